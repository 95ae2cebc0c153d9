import {mkdirSync} from 'node:fs';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {join} from 'node:path';
import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {
	BROWSER,
	ConsoleServer,
	openBrowser,
	openPage,
	showProcess,
	terminalLines,
	terminalShows,
} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {UpgradableServer} from '../helpers/upgrades.js';

/** Prints what it reads, with a number. */
const COUNT = 'stty -echo; echo ready; n=0; while read line; do n=$((n+1)); echo "$n:$line"; done';

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('after a reload the same process is shown, with nothing lost', async () => {
		const server = await ConsoleServer.start();
		await server.detached('--name', 'count', '-t', '--', 'sh', '-c', COUNT);
		const {page, problems} = await openPage(browser, server.link);
		await showProcess(page, 'count');
		await page.getByRole('button', {name: 'Take control'}).click();
		await page.getByText('you drive').waitFor();
		await page.keyboard.type('one\ntwo\n');
		await terminalShows(page, '2:two');
		await page.reload();
		await terminalShows(page, '2:two');
		expect((await terminalLines(page)).slice(0, 3)).toEqual(['ready', '1:one', '2:two']);
		expect(problems).toEqual([]);
	});

	test('after an absence longer than its session the page goes on by itself', async () => {
		const server = await ConsoleServer.start(['--detached-session', '100ms']);
		const script =
			'echo ready; while ! test -e go; do sleep 0.05; done; for i in 1 2 3; do echo "line $i"; done; sleep 1000';
		const directory = scratchDirectory();
		await server.detached('--name', 'away', '-t', '--cwd', directory, '--', 'sh', '-c', script);
		const line = await breakableLine(server.origin);
		const {page, problems} = await openPage(browser, server.link.replace(server.origin, line.origin));
		await showProcess(page, 'away');
		await terminalShows(page, 'ready');
		line.cut();
		await page.getByText('Trying again').waitFor();
		mkdirSync(join(directory, 'go'));
		await server.longarm('wait', 'away', '--text', 'line 3');
		expect((await terminalLines(page)).join('\n')).not.toContain('line 1');
		line.mend();
		await terminalShows(page, 'line 3');
		expect((await terminalLines(page)).slice(0, 4)).toEqual(['ready', 'line 1', 'line 2', 'line 3']);
		expect(problems).toEqual([]);
	});

	test('an upgrade of the server keeps the login and the process', async () => {
		const home = scratchDirectory();
		const env = {HOME: home, XDG_STATE_HOME: join(home, 'state')};
		const upgradable = new UpgradableServer(['--console', '--listen', 'ws://127.0.0.1:0'], {env});
		const server = await ConsoleServer.of(upgradable.command, home, env);
		await server.detached('--name', 'count', '-t', '--', 'sh', '-c', COUNT);
		const {page, problems} = await openPage(browser, server.link);
		await showProcess(page, 'count');
		await page.getByRole('button', {name: 'Take control'}).click();
		await page.getByText('you drive').waitFor();
		await page.keyboard.type('before\n');
		await terminalShows(page, '1:before');
		await upgradable.upgrade();
		await page.getByText('you drive').waitFor();
		await page.locator('.live').click();
		await page.keyboard.type('after\n');
		await terminalShows(page, '2:after');
		expect((await terminalLines(page)).slice(0, 3)).toEqual(['ready', '1:before', '2:after']);
		expect(problems).toEqual([]);
	});
});

interface BreakableLine {
	readonly origin: string;
	/** Ends every connection, and every new one at once. */
	cut(): void;
	mend(): void;
}

/** A TCP proxy in front of a server, as a network that goes away and comes back. */
async function breakableLine(target: string): Promise<BreakableLine> {
	const {hostname, port} = new URL(target);
	const sockets = new Set<Socket>();
	let isCut = false;
	const proxy = createServer(near => {
		const far = connect(Number(port), hostname);
		for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
		near.on('close', () => far.destroy());
		far.on('close', () => near.destroy());
		near.pipe(far).pipe(near);
		if (isCut) near.destroy();
	});
	await new Promise<void>(resolve => {
		proxy.listen(0, '127.0.0.1', resolve);
	});
	const destroyAll = (): void => sockets.forEach(socket => void socket.destroy());
	onTestFinished(() => {
		proxy.close();
		destroyAll();
	});
	return {
		origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
		cut: () => {
			isCut = true;
			destroyAll();
		},
		mend: () => {
			isCut = false;
		},
	};
}
