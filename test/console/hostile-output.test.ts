import {mkdirSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {
	BROWSER,
	ConsoleServer,
	goToView,
	openBrowser,
	openPage,
	showProcess,
	terminalShows,
} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';

const MARKUP = '<img src=x onerror="document.title=1337"><script>document.title=1337</script>';
/** Attempts of a page of another origin, in its own words. */
const TRIES = `async origin => {
	const attempt = work => work().catch(() => 'refused');
	return {
		session: await attempt(async () => (await fetch(origin + '/console/session', {credentials: 'include'})).text()),
		opaque: await attempt(
			async () => (await fetch(origin + '/console/session', {credentials: 'include', mode: 'no-cors'})).text(),
		),
		socket: await new Promise(resolve => {
			const socket = new WebSocket(origin.replace('http', 'ws') + '/console/ws/here');
			socket.addEventListener('open', () => resolve('open'));
			socket.addEventListener('error', () => resolve('refused'));
		}),
		frame: await new Promise(resolve => {
			const frame = document.createElement('iframe');
			frame.src = origin + '/console/';
			frame.addEventListener('load', () => resolve(frame.contentDocument === null ? 'refused' : 'open'));
			document.body.append(frame);
		}),
	};
}`;
const ESC = String.raw`\033`;

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('hostile output, titles, links and names do nothing', async () => {
		const server = await ConsoleServer.start();
		const script = [
			`printf '${ESC}]2;${MARKUP.replaceAll("'", '')}${ESC}\\\\'`,
			`printf '${ESC}]8;;javascript:document.title=1337${ESC}\\\\click me${ESC}]8;;${ESC}\\\\ '`,
			`printf '${ESC}]8;;data:text/html,x${ESC}\\\\or me${ESC}]8;;${ESC}\\\\\\n'`,
			`printf '${ESC}]52;c;c3RvbGVu${ESC}\\\\'`,
			// Questions whose answers would be typed into the process.
			`printf '${ESC}[c${ESC}[6n${ESC}[21t${ESC}]10;?${ESC}\\\\'`,
			`printf '%s\\n' '${MARKUP}'`,
			'echo shown; cat -v',
		].join('; ');
		await server.detached('--name', 'odd', '--label', `text=${MARKUP}`, '-t', '--', 'sh', '-c', script, MARKUP);
		await server.longarm('wait', 'odd', '--text', 'shown');
		mkdirSync(join(server.home, 'odd'));
		writeFileSync(join(server.home, 'odd', MARKUP.replaceAll('/', ':')), `${MARKUP}\n`);
		const {page, context, problems} = await openPage(browser, server.link);
		await page.getByText(`text=${MARKUP}`).waitFor();
		await showProcess(page, 'odd');
		await terminalShows(page, 'shown');
		const opened: unknown[] = [];
		context.on('page', other => opened.push(other.url()));
		// Both links, where they are drawn.
		for (const x of [40, 100])
			await page.mouse.click(
				(await page.locator('.live').boundingBox())!.x + x,
				(await page.locator('.live .xterm-rows > div').first().boundingBox())!.y + 5,
			);
		expect(opened).toEqual([]);
		const lines = (await page.locator('.live .xterm-rows').textContent())!;
		// Nothing was typed in answer to the questions: cat would show it.
		expect(lines).not.toContain('^[[');
		await goToView(page, `files/${encodeURIComponent(`file://${server.home}/odd`)}`);
		await page.getByText('onerror').first().click();
		await page.getByRole('region', {name: 'Content'}).waitFor();
		expect(await page.title()).not.toContain('1337');
		expect(await page.locator('img[src="x"], main script').count()).toBe(0);
		expect(problems).toEqual([]);
	});

	test('a page of another origin gets nothing, and a used link is dead', async () => {
		const server = await ConsoleServer.start();
		const {context} = await openPage(browser, server.link);
		const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
		await new Promise<void>(resolve => {
			site.listen(0, '127.0.0.1', resolve);
		});
		onTestFinished(() => void site.close());
		const foreign = await context.newPage();
		await foreign.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
		const got = (await foreign.evaluate(`(${TRIES})(${JSON.stringify(server.origin)})`)) as Record<string, string>;
		expect(got).toMatchObject({session: 'refused', socket: 'refused', frame: 'refused'});
		expect(String(got.opaque)).not.toContain('machines');
		const late = await openPage(browser, server.link);
		await late.page.getByText('this link was used already').waitFor();
		expect(late.page.url()).not.toContain('login=');
	});
});
