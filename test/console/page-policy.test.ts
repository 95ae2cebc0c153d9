// covers: src/console/server/console-requests.ts
import {mkdirSync, writeFileSync} from 'node:fs';
import {type AddressInfo, connect, createServer} from 'node:net';
import {join} from 'node:path';
import type {Browser, BrowserContext, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {BROWSER, ConsoleServer, goToView, openBrowser, showProcess, terminalShows} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';
import {fileWith, sha256} from '../helpers/tokens.js';

const POLICY = 'content-security-policy';
const TOKEN = 'a token of the owner, long enough';
const RECORD = `addEventListener('securitypolicyviolation', event => {
	const {disposition, violatedDirective, blockedURI, sample, sourceFile, lineNumber, columnNumber} = event;
	const place = [sourceFile, lineNumber, columnNumber].join(':');
	(globalThis.violations ??= []).push([disposition, location.hash, violatedDirective, blockedURI, sample, place].join(' '));
})`;

interface Recorded {
	readonly page: Page;
	readonly context: BrowserContext;
	readonly violations: () => Promise<string[]>;
	/** Hosts that were asked for anything. */
	readonly hosts: Set<string>;
}

/** Another address of a server, by which its policy is reported and not enforced. */
async function reportOnly(origin: string): Promise<string> {
	const {hostname: host, port} = new URL(origin);
	const proxy = createServer(near => {
		const far = connect({host, port: Number(port)});
		near.on('error', () => far.destroy()).pipe(far);
		far.on('error', () => near.destroy());
		far.on('data', (data: Buffer) => {
			const text = data.toString('latin1').replaceAll(/^content-security-policy:/gim, `${POLICY}-report-only:`);
			near.write(text, 'latin1');
		});
		far.on('end', () => near.end());
	});
	await new Promise<void>(resolve => {
		proxy.listen(0, host, resolve);
	});
	onTestFinished(() => void proxy.close());
	return `http://${host}:${(proxy.address() as AddressInfo).port}`;
}

/** A command that prints a link with another text. */
const link = (uri: string, text: string): string => `printf '\\033]8;;${uri}\\033\\\\${text}\\033]8;;\\033\\\\\\n'`;

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	/** A page that records what its policy stops, or would stop. */
	async function openRecorded(address: string): Promise<Recorded> {
		const context = await browser.newContext();
		onTestFinished(() => context.close());
		context.setDefaultTimeout(90_000);
		await context.addInitScript(RECORD);
		const page = await context.newPage();
		const hosts = new Set<string>();
		page.on('request', request => hosts.add(new URL(request.url()).host));
		page.on('websocket', socket => hosts.add(new URL(socket.url()).host));
		await page.goto(address);
		return {page, context, hosts, violations: () => page.evaluate('globalThis.violations ?? []')};
	}

	test.for(['enforced', 'report only'] as const)(
		'all views together violate nothing of the policy when it is %s, and ask no other host',
		async mode => {
			const server = await ConsoleServer.start();
			const script = `printf '\\033[38;2;0;0;200mready\\033[m\\n'; cat`;
			await server.detached('--name', 'shell', '-t', '--record', '--', 'sh', '-c', script);
			mkdirSync(join(server.home, 'things'));
			writeFileSync(join(server.home, 'things', 'note.txt'), 'a note\n');
			const picture = '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = 1337</script></svg>';
			writeFileSync(join(server.home, 'things', 'picture.svg'), picture);
			const origin = mode === 'enforced' ? server.origin : await reportOnly(server.origin);
			const {page, violations, hosts} = await openRecorded(server.link.replace(server.origin, origin));
			await showProcess(page, 'shell');
			await terminalShows(page, 'ready');
			// Any colour, not only those of the palette.
			const colour = `getComputedStyle(document.querySelector('.live .xterm-rows span')).color`;
			expect(await page.evaluate(colour)).toBe('rgb(0, 0, 200)');
			await page.getByRole('button', {name: 'Take control'}).click();
			await page.getByText('you drive').waitFor();
			await page.getByRole('button', {name: 'Find'}).click();
			await page.getByLabel('Find in the output').fill('ready');
			for (const view of ['processes', 'files', 'ports', 'jobs', 'metrics']) {
				await goToView(page, view);
				await page.getByRole('heading', {level: 1, name: new RegExp(view, 'i')}).waitFor();
			}
			for (const name of ['note.txt', 'picture.svg']) {
				await goToView(page, `files/${encodeURIComponent(`file://${server.home}/things/${name}`)}`);
				await page.getByRole('heading', {level: 2, name}).waitFor();
				await page.locator('.preview pre, .preview img').first().waitFor();
			}
			expect(await page.title()).not.toContain('1337');
			expect(await violations()).toEqual([]);
			expect([...hosts]).toEqual([new URL(origin).host]);
			// The record itself works.
			await page.evaluate(`new Promise(resolve => {
				const image = new Image();
				image.addEventListener('error', resolve);
				image.src = 'http://127.0.0.1:1/elsewhere.png';
			})`);
			expect(await violations()).toEqual([expect.stringContaining(mode === 'enforced' ? 'enforce' : 'report')]);
		},
	);

	test('a page whose token is revoked shows nothing more of the machine, and asks for a login', async () => {
		const tokens = fileWith(`[[tokens]]\nname = "ann"\nsha256 = "${sha256(TOKEN)}"\n`, 'tokens.toml');
		const server = await ConsoleServer.start(['--ws-auth', 'capability-token', '--ws-tokens-file', tokens], {
			LONGARM_EXEC_SERVER_TOKEN: TOKEN,
		});
		await server.detached('--name', 'shown', '-t', '--', 'sh', '-c', 'echo visible; sleep 1000');
		const {page} = await openRecorded(server.link);
		await page.getByLabel('Link or token').fill(TOKEN);
		await page.keyboard.press('Enter');
		await showProcess(page, 'shown');
		await terminalShows(page, 'visible');
		writeFileSync(tokens, `[[tokens]]\nname = "bob"\nsha256 = "${sha256('another one')}"\n`);
		process.kill(server.server.pid, 'SIGHUP');
		await page.getByText('This browser is no longer logged in.').waitFor();
		expect(await page.locator('.xterm').count()).toBe(0);
		expect(await page.content()).not.toContain('visible');
	});

	test('names, labels and arguments with markup are text in every view', async () => {
		const server = await ConsoleServer.start();
		const markup = '<img src=x onerror="document.title=1337">';
		const id = await server.detached('--label', `key=${markup}`, '--', 'sh', '-c', 'echo "$0" >&2', markup);
		await server.detached('--name', 'other', '--', 'echo', 'turned\u202Eeman');
		const {page, violations} = await openRecorded(server.link);
		await page.getByText(`key=${markup}`).waitFor();
		// Characters that turn the direction of a text around are written out.
		await page.getByText('turned\\u202eeman').waitFor();
		await goToView(page, `process/${id}`);
		await terminalShows(page, 'onerror');
		await goToView(page, `process/${encodeURIComponent('no such <img src=x onerror="document.title=1337">')}`);
		await page.getByText('there is no such process').first().waitFor();
		await goToView(page, `files/${encodeURIComponent('file:///no such <img src=x onerror="document.title=1337">')}`);
		await page.getByRole('alert').waitFor();
		expect(await page.title()).not.toContain('1337');
		expect(await page.locator('img[src="x"]').count()).toBe(0);
		expect(await violations()).toEqual([]);
	});

	test('a link in output tells where it leads, is opened for web pages only, and these cannot reach the console', async () => {
		const server = await ConsoleServer.start();
		const script = [
			link(`${server.origin}/console/icon.svg`, 'https://good.example'),
			link('file:///etc/passwd', 'not this'),
		];
		await server.detached('--name', 'links', '-t', '--', 'sh', '-c', `${script.join('; ')}; sleep 1000`);
		const {page, context} = await openRecorded(server.link);
		await showProcess(page, 'links');
		await terminalShows(page, 'not this');
		const opened: Page[] = [];
		context.on('page', other => opened.push(other));
		const rows = page.locator('.live .xterm-rows > div');
		for (const row of [1, 0]) {
			const {x, y, height} = (await rows.nth(row).boundingBox())!;
			await page.mouse.move(x + 20, y + height / 2);
			if (row === 0)
				await page.locator(`.live [title$="/console/icon.svg"], .live[title$="/console/icon.svg"]`).waitFor();
			const next = row === 0 ? context.waitForEvent('page') : undefined;
			await page.mouse.click(x + 20, y + height / 2);
			await next;
		}
		expect(opened).toHaveLength(1);
		expect(await opened[0]!.evaluate('window.opener')).toBeNull();
	});
});
