import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Command} from '../helpers/command.js';
import {BROWSER, ConsoleServer, goToView, openBrowser, openPage} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';

const ITEMS = 1000;
/** Rows in the page at once, with the head. */
const MAX_ROWS = 201;

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('a job of 1,000 items is followed live, failures first, without drawing every row', async () => {
		const server = await ConsoleServer.start();
		const rows = Array.from({length: ITEMS}, (_, index) => `item-${index + 1}`);
		const input = join(server.home, 'rows.csv');
		writeFileSync(input, `name\n${rows.join('\n')}\n`);
		const script = 'echo did {name}; case {name} in *77) echo bad luck >&2; exit 1;; esac';
		const env = {HOME: server.home, XDG_STATE_HOME: join(server.home, '.local/state')};
		const job = new Command(['fanout', input, '--id-column', 'name', '--cmd', script, '--result', 'exit'], {
			env,
		});
		const {page, problems} = await openPage(browser, server.link);
		await job.until(() => job.stderr.length > 0 || job.stdout.length > 0, 'the job').catch(() => {});
		await goToView(page, 'jobs');
		await page.getByRole('link', {name: 'rows.csv'}).click();
		await page.getByRole('table', {name: 'Items'}).waitFor();
		// Counts how often rows are drawn from now on.
		await page.evaluate(`
			window.changes = 0;
			new MutationObserver(list => { window.changes += list.length; })
				.observe(document.querySelector('.items'), {childList: true, subtree: true, characterData: true});
		`);
		await page.getByText(`${ITEMS} of ${ITEMS}`).waitFor();
		await job.ended;
		const items = page.locator('.items .row');
		expect(await items.count()).toBeLessThanOrEqual(MAX_ROWS);
		expect(await items.nth(1).textContent()).toContain('item-77');
		expect(await page.getByRole('button', {name: 'failed 10'}).count()).toBe(1);
		await page.getByRole('button', {name: 'item-177'}).click();
		await page.getByRole('region', {name: 'Output of item-177'}).filter({hasText: 'bad luck'}).waitFor();
		// Each item has at least a claim and an end: drawn one by one they would be several changes each.
		expect(await page.evaluate('window.changes')).toBeLessThan(ITEMS * 4);
		expect(problems).toEqual([]);
	});
});
