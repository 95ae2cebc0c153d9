import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
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

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('files are looked at, changed as a whole or in one place, uploaded and downloaded', async () => {
		const server = await ConsoleServer.start();
		const folder = join(server.home, 'work');
		const file = join(folder, 'notes.txt');
		mkdirSync(folder);
		writeFileSync(file, 'one\r\ntwo\r\ntwo\r\n');
		const {page, problems} = await openPage(browser, server.link);
		await goToView(page, `files/${encodeURIComponent(`file://${folder}`)}`);
		await page.getByRole('link', {name: 'notes.txt'}).click();
		const content = page.getByRole('region', {name: 'Content'});
		await content.filter({hasText: 'one'}).waitFor();

		await page.getByRole('button', {name: 'Replace text'}).click();
		await page.getByLabel('Text now').fill('two');
		await page.getByLabel('Text instead').fill('three');
		await page.getByRole('button', {name: 'Replace', exact: true}).click();
		await page.getByText('more than once').waitFor();
		await page.getByLabel('Text now').fill('one\ntwo');
		await page.getByLabel('Text instead').fill('one\nthree');
		await page.getByRole('button', {name: 'Replace', exact: true}).click();
		await content.filter({hasText: 'three'}).waitFor();
		expect(readFileSync(file, 'utf8')).toBe('one\r\nthree\r\ntwo\r\n');

		await page.getByRole('button', {name: 'Edit', exact: true}).click();
		await page.getByRole('textbox', {name: 'Content'}).fill('whole\nnew\n');
		writeFileSync(file, 'changed by somebody else\r\n');
		await page.getByRole('button', {name: 'Save'}).click();
		await page.getByText('was changed meanwhile').waitFor();
		expect(readFileSync(file, 'utf8')).toBe('changed by somebody else\r\n');

		await page.locator('input[type=file]').setInputFiles({
			name: 'sent.txt',
			mimeType: 'text/plain',
			buffer: Buffer.from('from the browser\n'),
		});
		await content.filter({hasText: 'from the browser'}).waitFor();
		expect(readFileSync(join(folder, 'sent.txt'), 'utf8')).toBe('from the browser\n');
		await page
			.locator('input[type=file]')
			.setInputFiles({name: 'sent.txt', mimeType: '', buffer: Buffer.from('again\n')});
		await page.getByText('sent.txt exists').waitFor();
		await page.getByRole('button', {name: 'Keep'}).click();
		expect(readFileSync(join(folder, 'sent.txt'), 'utf8')).toBe('from the browser\n');
		const [download] = await Promise.all([
			page.waitForEvent('download'),
			page.getByRole('button', {name: 'Download'}).click(),
		]);
		expect(readFileSync(await download.path(), 'utf8')).toBe('from the browser\n');
		expect(problems).toEqual([]);
	});

	test('ports that listen are listed, and what answers there is text', async () => {
		const http = createServer((_, response) => response.end('<h1>hello</h1>'));
		await new Promise<void>(resolve => {
			http.listen(0, '127.0.0.1', resolve);
		});
		onTestFinished(() => void http.close());
		const {port} = http.address() as AddressInfo;
		const server = await ConsoleServer.start();
		const {page, problems} = await openPage(browser, server.link);
		await page.waitForSelector('main');
		await goToView(page, 'ports');
		await page.getByRole('button', {name: `Ask port ${port} over HTTP`}).click();
		const answer = page.getByRole('region', {name: `Answer of port ${port}`});
		await answer.filter({hasText: '<h1>hello</h1>'}).waitFor();
		expect(problems).toEqual([]);
	});

	test('on a phone keys are pressed and lines composed without a keyboard', async () => {
		const server = await ConsoleServer.start();
		await server.detached('--name', 'keys', '-t', '--', 'sh', '-c', 'stty -echo; echo ready; cat -v');
		const phone = {viewport: {width: 390, height: 700}, hasTouch: true, isMobile: true};
		const {page, problems} = await openPage(browser, server.link, phone);
		await showProcess(page, 'keys');
		await terminalShows(page, 'ready');
		await page.getByRole('button', {name: 'Take control'}).tap();
		await page.getByRole('button', {name: 'Up'}).tap();
		await page.getByRole('button', {name: 'Esc'}).tap();
		await page.getByLabel('Line to send').fill('composed');
		await page.getByRole('button', {name: 'Send'}).tap();
		await terminalShows(page, '^[[A^[composed');
		await page.getByRole('button', {name: 'Ctrl', exact: true}).tap();
		await page.getByLabel('Letter to send with control').fill('d');
		await page.getByRole('button', {name: 'Send'}).tap();
		await page.getByText('exit 0').waitFor();
		expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
		expect(problems).toEqual([]);
	});
});
