import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
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

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('the slider shows the screen of a past moment, and the export plays as an asciicast', async () => {
		const server = await ConsoleServer.start();
		const script = `printf first; sleep 1.5; printf '\\033[2J\\033[Hsecond'; sleep 1; echo; echo third; sleep 1000`;
		const id = await server.detached('--name', 'film', '-t', '--record', '--', 'sh', '-c', script);
		await server.longarm('wait', 'film', '--text', 'third');
		const {page, problems} = await openPage(browser, server.link);
		await showProcess(page, 'film');
		await terminalShows(page, 'third');
		// The moment of the first output is known to the server: its screen then is the one to see.
		const slider = page.getByLabel('Moment to show');
		await slider.fill('1000');
		await page.locator('.past .xterm-rows').filter({hasText: 'first'}).waitFor();
		const [{startedAt}] = JSON.parse((await server.longarm('ps', '--json')).stdout) as [{startedAt: string}];
		const at = new Date(Date.parse(startedAt) + 1000).toISOString();
		const {stdout} = await server.longarm('screen', id, '--at', at);
		expect((await terminalLines(page, '.past')).join('\n').trim()).toBe(stdout.trim());
		await page.getByRole('button', {name: 'Live'}).click();
		await page.locator('.past').waitFor({state: 'hidden'});
		expect((await terminalLines(page)).slice(0, 2)).toEqual(['second', 'third']);

		const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('.cast').click()]);
		const path = join(scratchDirectory(), 'film.cast');
		await download.saveAs(path);
		expect(download.suggestedFilename()).toBe('film.cast');
		const [header, ...events] = readFileSync(path, 'utf8')
			.trim()
			.split('\n')
			.map(line => JSON.parse(line) as unknown);
		expect(header).toMatchObject({version: 3, term: {cols: 80, rows: 24}});
		const output = (events as [number, string, string][]).filter(([, code]) => code === 'o').map(([, , data]) => data);
		expect(output.join('')).toBe('first\u001b[2J\u001b[Hsecond\r\nthird\r\n');
		expect(problems).toEqual([]);
	});

	test('output is found and downloaded as it was written', async () => {
		const server = await ConsoleServer.start();
		await server.detached(
			'--name',
			'log',
			'--',
			'sh',
			'-c',
			'for i in $(seq 1 300); do echo "line $i"; done; sleep 1000',
		);
		await server.longarm('wait', 'log', '--text', 'line 300');
		const {page} = await openPage(browser, server.link);
		await showProcess(page, 'log');
		await terminalShows(page, 'line 300');
		await page.getByRole('button', {name: 'Find'}).click();
		await page.getByLabel('Find in the output').fill('line 77');
		await terminalShows(page, 'line 77');
		await page.getByLabel('Find in the output').fill('line 777');
		await page.getByText('not found').waitFor();
		const [download] = await Promise.all([
			page.waitForEvent('download'),
			page.getByRole('button', {name: 'Download'}).click(),
		]);
		const path = join(scratchDirectory(), 'log');
		await download.saveAs(path);
		expect(readFileSync(path, 'utf8')).toBe(Array.from({length: 300}, (_, index) => `line ${index + 1}\n`).join(''));
	});
});
