import {writeFileSync} from 'node:fs';
import {hostname} from 'node:os';
import {join} from 'node:path';
import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {run} from '../helpers/command.js';
import {
	BROWSER,
	ConsoleServer,
	goToView,
	openBrowser,
	openPage,
	showProcess,
	startWithToken,
	terminalShows,
} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';

const DESKTOP = {viewport: {width: 1400, height: 900}};

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('the page of a share link counts other pages and not itself', async () => {
		const server = await startWithToken();
		await server.detached('--name', 'shown', '-t', '--', 'sh', '-c', 'echo ready; cat');
		const opened = [];
		for (let count = 0; count < 2; count++) {
			const {stdout} = await server.longarm('share', '--json', 'shown');
			const {consoleLink} = JSON.parse(stdout) as {consoleLink: string};
			opened.push(await openPage(browser, consoleLink));
		}
		const [one, other] = opened as [(typeof opened)[0], (typeof opened)[0]];
		await one.page.getByText(/^1 more watching/).waitFor();
		await other.page.getByText(/^1 more watching/).waitFor();
		await other.context.close();
		await one.page.getByText('more watching').waitFor({state: 'detached'});
		expect(await one.page.getByText('watching').count()).toBe(1);
	});

	test('processes that have ended are listed below the running ones', async () => {
		const server = await ConsoleServer.start();
		await server.detached('--name', 'long', '--', 'sleep', '1000');
		await server.detached('--name', 'short', '--', 'true');
		await server.longarm('wait', 'short');
		const {page} = await openPage(browser, server.link);
		await page.getByText('exit 0').waitFor();
		const names = await page.locator('.table .row .what a').allTextContents();
		expect(names).toEqual(['long', 'short']);
	});

	test('addresses of the page contain the name of the machine', async () => {
		const server = await ConsoleServer.start();
		const {page} = await openPage(browser, server.link);
		await page.getByRole('link', {name: 'Files'}).click();
		await page.getByRole('heading', {name: 'Files'}).waitFor();
		expect(new URL(page.url()).hash).toBe(`#/${encodeURIComponent(hostname())}/files`);
		await page.reload();
		await page.getByRole('heading', {name: 'Files'}).waitFor();
	});

	test('a finished job with failed items is shown as failed', async () => {
		const server = await ConsoleServer.start();
		const input = join(server.home, 'rows.csv');
		writeFileSync(input, 'name\none\ntwo\n');
		await run(['fanout', input, '--cmd', 'test {name} = one', '--result', 'exit'], server.env);
		const {page} = await openPage(browser, server.link);
		await goToView(page, 'jobs');
		const badge = page.locator('.jobs .badge');
		await badge.waitFor();
		expect(await badge.textContent()).toBe('1 failed');
		expect(await badge.getAttribute('class')).toContain('bad');
	});

	test('ports are offered for forwarding only by a server that forwards them', async () => {
		for (const [scope, count] of [
			['none', 0],
			['loopback', 1],
		] as const) {
			const server = await ConsoleServer.start(['--allow-forward', scope]);
			const {page} = await openPage(browser, server.link);
			await goToView(page, 'ports');
			await page
				.getByRole('cell', {name: new URL(server.origin).port, exact: true})
				.first()
				.waitFor();
			expect(await page.getByRole('columnheader', {name: 'From your machine'}).count()).toBe(count);
			expect(await page.getByText('This machine does not forward ports.').count()).toBe(1 - count);
		}
	});

	test('a terminal fills its pane in one direction, and an ended one is not watched', async () => {
		const server = await ConsoleServer.start();
		await server.detached('--name', 'small', '-t', '--', 'sh', '-c', 'echo ready; read line');
		const {page} = await openPage(browser, server.link, DESKTOP);
		await showProcess(page, 'small');
		await terminalShows(page, 'ready');
		const [pane, screen] = [await sizeOf(page, '.live'), await sizeOf(page, '.live .xterm-screen')];
		expect(Math.max(screen.width / pane.width, screen.height / pane.height)).toBeGreaterThan(0.9);
		expect(screen.width).toBeLessThanOrEqual(pane.width);
		expect(screen.height).toBeLessThanOrEqual(pane.height);
		await server.longarm('stop', '-s', 'KILL', 'small');
		await page.locator('.notices-text').getByText('ended').waitFor();
		expect(await page.getByText('nobody drives').count()).toBe(0);
	});
});

async function sizeOf(page: Page, selector: string): Promise<{width: number; height: number}> {
	return (await page.locator(selector).boundingBox())!;
}
