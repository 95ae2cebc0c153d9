// covers: src/cli/commands/hub/hub-console.ts, src/hub/hub.ts
import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {createHubConsole} from '../../src/cli/commands/hub/hub-console.js';
import type {Hub} from '../../src/hub/hub.js';
import {silentLogger} from '../../src/shared/logger.js';
import {Command} from '../helpers/command.js';
import {BROWSER, openBrowser, openPage, terminalShows} from '../helpers/consoles.js';
import {environmentVia, type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {needs} from '../helpers/needs.js';
import {request} from '../helpers/raw-http.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {clientTransport, connected} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

/** A hub in this program with its console. */
async function hubWithConsole(): Promise<RunningHub> {
	let hub: Hub | undefined;
	let url = '';
	const site = createHubConsole({
		hub: () => hub!,
		url: () => url,
		identity: undefined,
		isSecure: false,
		logger: silentLogger,
	});
	const running = await runningHub({site});
	({hub, url} = running);
	return running;
}

async function logIn(url: string, token: string): Promise<Response> {
	return fetch(`${url}/console/login`, {
		method: 'POST',
		headers: {'content-type': 'application/json', origin: url},
		body: JSON.stringify({token}),
	});
}

async function headersOf(url: string, token: string): Promise<{cookie: string; origin: string}> {
	const answer = await logIn(url, token);
	return {cookie: answer.headers.get('set-cookie')!.split(';', 1)[0]!, origin: url};
}

test('a client token opens the machines it is good for, and no other', async () => {
	const running = await hubWithConsole();
	const {hub, url, executorToken} = running;
	await runningExecutor(running, 'dev1');
	await runningExecutor(running, 'prod1');
	const {token} = await hub.tokens.create('client', 'dev*');
	const headers = await headersOf(url, token);
	const session = await fetch(`${url}/console/session`, {headers});
	expect(await session.json()).toEqual({machines: [{id: 'dev1', name: 'dev1'}], share: null});
	const socket = await connected(`${url.replace('http', 'ws')}/console/ws/dev1`, {headers});
	const client = await new TestClient(clientTransport(socket)).initialize();
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	await expect(connected(`${url.replace('http', 'ws')}/console/ws/prod1`, {headers})).rejects.toThrow('404');
	for (const wrong of [executorToken, 'lhc_wrong', '']) expect((await logIn(url, wrong)).status).toBe(401);
});

test('a revoked token ends the connections of its browsers, and their logins', async () => {
	const running = await hubWithConsole();
	const {hub, url} = running;
	await runningExecutor(running, 'dev1');
	const {token, record} = await hub.tokens.create('client', 'dev1');
	const headers = await headersOf(url, token);
	const socket = await connected(`${url.replace('http', 'ws')}/console/ws/dev1`, {headers});
	const closed = new Promise(resolve => {
		socket.once('close', resolve);
	});
	await hub.tokens.revoke(record.id);
	await closed;
	expect((await fetch(`${url}/console/session`, {headers})).status).toBe(401);
});

test('pages of browsers are served nowhere else, and nowhere without the console', async () => {
	const {url, clientToken} = await hubWithConsole();
	const {host} = new URL(url);
	const asked = {Host: host, Origin: url, Authorization: `Bearer ${clientToken}`};
	expect((await request(url, 'GET /environments', asked))[0]).toBe(403);
	expect((await request(url, 'GET /console/', {Host: 'evil.example'}))[0]).toBe(421);
	expect((await request(url, 'GET /console/', {Host: host}))[0]).toBe(200);
	const plain = await runningHub();
	expect((await fetch(`${plain.url}/console/`)).status).toBe(404);
});

describe('in Chromium', needs(BROWSER), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await openBrowser();
	});
	afterAll(() => browser.close());

	test('the page of a hub lists its machines and shows a terminal of one', async () => {
		const data = scratchDirectory();
		const command = new Command(['hub', '--console', '--listen', 'http://127.0.0.1:0', '--data', data]);
		await command.until(() => command.stdout.split('\n').length > 2, 'both addresses');
		const [url, page] = command.stdout.trim().split('\n');
		const {HubTokens} = await import('../../src/hub/store/hub-tokens.js');
		const tokens = new HubTokens(data);
		const executorToken = tokens.create('executor', '*').token;
		const clientToken = tokens.create('client', 'dev*').token;
		for (const id of ['dev1', 'dev2', 'prod1']) await runningExecutor({url: url!, executorToken}, id);
		const environment = environmentVia({url: url!, clientToken} as RunningHub, 'dev2');
		await environment.processes.start({
			processId: 'p1',
			name: 'shown',
			argv: ['sh', '-c', 'echo visible; sleep 1000'],
			cwd: 'file:///tmp',
			env: {PATH: process.env['PATH']!},
			tty: true,
			onDisconnect: 'keep',
		});
		const {page: tab, problems} = await openPage(browser, page!);
		await tab.getByLabel('Link or token').fill(clientToken);
		await tab.keyboard.press('Enter');
		await tab.getByRole('link', {name: 'dev1'}).waitFor();
		expect(await tab.getByText('prod1').count()).toBe(0);
		await tab.getByRole('link', {name: 'dev2'}).click();
		await tab.getByRole('link', {name: 'shown'}).click();
		await terminalShows(tab, 'visible');
		expect(problems).toEqual([]);
	});
});
