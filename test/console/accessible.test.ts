import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
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

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
	readonly violations: readonly {readonly id: string; readonly nodes: readonly {readonly html: string}[]}[];
}

/** Rules that the present view breaks, with the elements. */
async function faultsOf(page: Page): Promise<string[]> {
	// By the debugger: the policy of the page lets no other script in.
	await page.evaluate(AXE);
	const {violations} = (await page.evaluate('axe.run()')) as AxeResult;
	return violations.flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html}`));
}

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test.for([
		['light', 'a desk', {width: 1280, height: 800}],
		['dark', 'a desk', {width: 1280, height: 800}],
		['light', 'a phone', {width: 390, height: 760}],
		['dark', 'a phone', {width: 390, height: 760}],
	] as const)('every view passes axe-core in %s, on %s', async ([colorScheme, , viewport]) => {
		const server = await ConsoleServer.start();
		await server.detached('--name', 'shell', '-t', '--record', '--label', 'a=b', '--', 'sh', '-c', 'echo ready; cat');
		await server.detached('--name', 'failed', '--', 'false');
		const {page} = await openPage(browser, `${server.origin}/console/`, {colorScheme, viewport});
		await page.getByLabel('Link or token').waitFor();
		expect(await faultsOf(page)).toEqual([]);
		await page.getByLabel('Link or token').fill(server.link);
		await page.keyboard.press('Enter');
		await page.getByRole('link', {name: 'shell'}).waitFor();
		expect(await faultsOf(page)).toEqual([]);
		await showProcess(page, 'shell');
		await terminalShows(page, 'ready');
		await page.getByRole('button', {name: 'Take control'}).click();
		await page.getByText('you drive').waitFor();
		expect(await faultsOf(page)).toEqual([]);
		for (const view of ['files', 'ports', 'jobs', 'metrics']) {
			await goToView(page, view);
			await page.getByRole('heading', {level: 1, name: new RegExp(view, 'i')}).waitFor();
			expect(await faultsOf(page)).toEqual([]);
		}
	});

	test('with the keyboard alone one gets from the login to typing, and out of the terminal again', async () => {
		const server = await ConsoleServer.start();
		await server.detached(
			'--name',
			'echo',
			'-t',
			'--',
			'sh',
			'-c',
			'stty -echo; echo ready; while read l; do echo "<$l>"; done',
		);
		const {page} = await openPage(browser, `${server.origin}/console/`);
		await page.getByLabel('Link or token').waitFor();
		await page.keyboard.press('Tab');
		await page.keyboard.insertText(server.link);
		await page.keyboard.press('Enter');
		await page.getByRole('link', {name: 'echo'}).waitFor();
		const focused = (): Promise<string> =>
			page.evaluate('document.activeElement.textContent || document.activeElement.tagName');
		const tabTo = async (text: string): Promise<void> => {
			for (let count = 0; count < 40; count++) {
				if ((await focused()) === text) return;
				await page.keyboard.press('Tab');
			}
			throw new Error(`the keyboard does not reach ${text}`);
		};
		await tabTo('echo');
		await page.keyboard.press('Enter');
		await terminalShows(page, 'ready');
		await page.getByRole('button', {name: 'Take control', disabled: false}).waitFor();
		await tabTo('Take control');
		await page.keyboard.press('Enter');
		await page.getByText('you drive').waitFor();
		await page.keyboard.type('typed\n');
		await terminalShows(page, '<typed>');
		// Tab is for the process; Control, Shift and Space leave the terminal.
		await page.keyboard.press('Tab');
		expect(await focused()).toBe('TEXTAREA');
		await page.keyboard.press('Control+Shift+Space');
		expect(await focused()).toBe('Give back');
		await page.keyboard.press('Enter');
		await page.getByText('watching').first().waitFor();
		await tabTo('Screen reader');
		await page.keyboard.press('Enter');
		await page.getByRole('listitem').filter({hasText: '<typed>'}).waitFor();
	});
});
