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

const FLOOD_BYTES = 100_000_000;
/** Far above what the page needs, and far below the output. */
const MAX_HEAP_BYTES = 64 * 1024 * 1024;

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test.for([
		['an observer', false],
		['the driver', true],
	] as const)('100 MB of output leave the page of %s responsive, bounded and right at the end', async ([, drives]) => {
		const server = await ConsoleServer.start();
		const script = `stty -echo; read go; yes 'a line of the flood, again and again, 0123456789' | head -c ${FLOOD_BYTES}; echo; echo the end; sleep 1000`;
		await server.detached('--name', 'flood', '-t', '--', 'sh', '-c', script);
		const {page, context, problems} = await openPage(browser, server.link);
		await showProcess(page, 'flood');
		await page.getByRole('button', {name: 'Take control'}).click();
		await page.getByText('you drive').waitFor();
		await page.keyboard.type('\n');
		if (!drives) await page.getByRole('button', {name: 'Give back'}).click();
		await terminalShows(page, 'a line of the flood');
		// It answers meanwhile.
		await page.getByRole('button', {name: 'Find'}).click();
		await page.getByLabel('Find in the output').waitFor();
		await terminalShows(page, 'the end');
		const lines = (await terminalLines(page)).filter(line => line !== '');
		expect(lines.at(-1)).toBe('the end');
		expect(lines.at(-3)).toBe('a line of the flood, again and again, 0123456789');
		const session = await context.newCDPSession(page);
		await session.send('HeapProfiler.collectGarbage');
		const {usedSize} = await session.send('Runtime.getHeapUsage');
		expect(usedSize).toBeLessThan(MAX_HEAP_BYTES);
		expect(problems).toEqual([]);
	});
});
