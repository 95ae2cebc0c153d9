import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {
	BROWSER,
	ConsoleServer,
	OWNER_TOKEN,
	openBrowser,
	openPage,
	showProcess,
	startWithToken,
	terminalLines,
	terminalShows,
} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';
import {OnTerminal} from '../helpers/on-terminal.js';

const ECHO = 'stty -echo; echo ready; while read line; do echo "<$line>"; done';

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('two browsers and a command watch one process; one takes control, types and gives back', async () => {
		const server = await startWithToken();
		await server.detached('--name', 'echo', '-t', '--', 'sh', '-c', ECHO);
		await server.longarm('wait', 'echo', '--text', 'ready');
		const {stdout: shared} = await server.longarm('share', '--drive', 'echo');
		const command = await OnTerminal.longarm('attach', shared.trim());
		await command.shows('you drive');
		const pages = [];
		for (let count = 0; count < 2; count++) {
			const opened = await openPage(browser, server.link);
			await opened.page.getByLabel('Link or token').fill(OWNER_TOKEN);
			await opened.page.getByText('Log in').click();
			await showProcess(opened.page, 'echo');
			await terminalShows(opened.page, 'ready');
			pages.push(opened);
		}
		const [one, other] = pages as [(typeof pages)[0], (typeof pages)[0]];

		// Observers type nowhere.
		await one.page.locator('.live').click();
		await one.page.keyboard.type('nothing\n');
		await command.type('from the command\r');
		await terminalShows(one.page, '<from the command>');
		await terminalShows(other.page, '<from the command>');

		const sizeOf = async (): Promise<unknown> => {
			const {stdout} = await server.longarm('ps', '--json');
			const [{rows, cols}] = JSON.parse(stdout) as [{rows: number; cols: number}];
			return [rows, cols];
		};
		const size = await sizeOf();
		await one.page.getByRole('button', {name: 'Take control'}).click();
		await one.page.getByText('you drive').waitFor();
		await command.shows('has taken over');
		await one.page.keyboard.type('from the page\n');
		await terminalShows(other.page, '<from the page>');
		await command.shows('<from the page>');
		// Nobody's window has changed the terminal.
		await other.page.setViewportSize({width: 500, height: 900});
		await one.page.setViewportSize({width: 900, height: 500});
		expect(await sizeOf()).toEqual(size);

		await one.page.getByRole('button', {name: 'Give back'}).click();
		await one.page.getByRole('button', {name: 'Take control'}).waitFor();
		await one.page.keyboard.type('nothing again\n');
		await command.type('~t');
		await command.shows('you drive');
		await command.type('the command again\r');
		await terminalShows(one.page, '<the command again>');
		await terminalShows(other.page, '<the command again>');
		for (const {page, problems} of pages) {
			expect((await terminalLines(page)).join('\n')).not.toContain('nothing');
			expect(problems).toEqual([]);
		}
	});

	test('a share link shows its one process in its one role, and nothing else', async () => {
		const server = await startWithToken();
		await server.detached('--name', 'shown', '-t', '--', 'sh', '-c', 'echo visible; sleep 1000');
		await server.longarm('wait', 'shown', '--text', 'visible');
		const {stdout} = await server.longarm('share', '--json', 'shown');
		const {token, id} = JSON.parse(stdout) as {token: string; id: string};
		const {page, problems} = await openPage(browser, `${server.link}#share=${token}&process=${id}`);
		await terminalShows(page, 'visible');
		expect(page.url()).not.toContain(token);
		expect(await page.getByRole('button', {name: 'Take control'}).count()).toBe(0);
		expect(await page.getByRole('button', {name: 'End'}).count()).toBe(0);
		expect(await page.getByRole('navigation').count()).toBe(0);
		await page.reload();
		await terminalShows(page, 'visible');
		expect(problems).toEqual([]);
	});

	test('the driver resizes the terminal when asked to, and ends the process after a question', async () => {
		const server = await ConsoleServer.start();
		const {page} = await openPage(browser, server.link);
		await server.detached(
			'--name',
			'sizes',
			'-t',
			'--',
			'bash',
			'-c',
			'trap "stty size" WINCH; echo ready; while sleep 0.1; do :; done',
		);
		await showProcess(page, 'sizes');
		await terminalShows(page, 'ready');
		await page.getByRole('button', {name: 'Take control'}).click();
		await page.getByRole('button', {name: 'Fit'}).click();
		await terminalShows(page, /\d+ \d{3}/);
		await page.getByRole('button', {name: 'End'}).click();
		await page.getByRole('button', {name: 'Really end it'}).click();
		await page.getByText('terminated').waitFor();
		expect(await page.getByRole('button', {name: 'Take control'}).count()).toBe(0);
	});
});
