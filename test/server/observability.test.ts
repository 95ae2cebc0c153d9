import {get} from 'node:http';
import {describe, expect, test} from 'vitest';
import {WebSocket} from 'ws';
import {Command} from '../helpers/command.js';
import {disconnect} from '../helpers/disconnect.js';
import {joined, OPEN_STDIN, refusal} from '../helpers/process-api.js';
import {type Exposition, parseExposition, valueOf} from '../helpers/prometheus.js';
import {connected} from '../helpers/serving.js';
import type {TestClient} from '../helpers/test-client.js';

interface Answer {
	readonly status: number;
	readonly type: string | undefined;
	readonly body: string;
}

async function listening(...settings: string[]): Promise<{command: Command; url: string; http: string}> {
	const command = new Command(['serve', '--log-format', 'json', ...settings]);
	const url = await command.url();
	return {command, url, http: url.replace('ws:', 'http:')};
}

function page(address: string, init: {method?: string; headers?: Record<string, string>} = {}): Promise<Answer> {
	return new Promise((resolve, reject) => {
		get(address, {...init, agent: false}, response => {
			let body = '';
			response.setEncoding('utf8').on('data', (text: string) => (body += text));
			response.on('end', () => resolve({status: response.statusCode!, type: response.headers['content-type'], body}));
		}).on('error', reject);
	});
}

async function metrics(http: string): Promise<Exposition> {
	const {status, type, body} = await page(`${http}/metrics`);
	expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
	return parseExposition(body);
}

async function health(http: string): Promise<unknown> {
	const {status, type, body} = await page(`${http}/healthz`);
	expect([status, type]).toEqual([200, 'application/json']);
	return JSON.parse(body);
}

/** The status a WebSocket is refused with. */
function refusedWith(url: string): Promise<number | undefined> {
	return new Promise((resolve, reject) => {
		const socket = new WebSocket(url);
		socket.once('unexpected-response', (_request, response) => {
			response.resume();
			resolve(response.statusCode);
		});
		socket.once('open', () => {
			socket.terminate();
			resolve(undefined);
		});
		socket.once('error', reject);
	});
}

async function run(client: TestClient, processId: string, script: string): Promise<number> {
	await client.sh(processId, script);
	return (await client.done(processId)).exitCode;
}

test('/healthz tells what the server has on its hands', async () => {
	const {url, http} = await listening();
	const idle = {
		status: 'ok',
		version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
		uptimeSeconds: expect.any(Number) as unknown,
		connections: 0,
		sessions: 0,
		processes: 0,
		retainedBytes: 0,
	};
	expect(await health(http)).toEqual(idle);
	const client = await joined(url);
	await client.sh('p', 'echo 12345; cat', OPEN_STDIN);
	await client.shows('p', '12345\n');
	expect(await health(http)).toEqual({...idle, connections: 1, sessions: 1, processes: 1, retainedBytes: 6});
	await client.call('process/closeStdin', {processId: 'p'});
	await client.event('p', 'process/closed');
	await disconnect({url, client});
	expect(await health(http)).toEqual({...idle, connections: 0, sessions: 1, processes: 0, retainedBytes: 6});
});

describe('/metrics', () => {
	test('names what there is to know of a server that has done nothing yet', async () => {
		const {http} = await listening();
		const {types, samples} = await metrics(http);
		expect(types).toEqual({
			exec_server_connections_total: 'counter',
			exec_server_requests_total: 'counter',
			exec_server_disk_waits_total: 'counter',
			exec_server_processes_waiting_for_disk: 'gauge',
			exec_server_request_duration_seconds: 'histogram',
			exec_server_processes_finished_total: 'counter',
			exec_server_process_duration_seconds: 'histogram',
			exec_server_process_attaches_total: 'counter',
			exec_server_process_takeovers_total: 'counter',
			exec_server_process_shares_total: 'counter',
			exec_server_connections_active: 'gauge',
			exec_server_sessions_active: 'gauge',
			exec_server_processes_active: 'gauge',
			exec_server_retained_bytes: 'gauge',
			exec_server_output_bytes_total: 'counter',
			exec_server_backpressure_seconds_total: 'counter',
			exec_server_spilled_bytes: 'gauge',
			process_resident_memory_bytes: 'gauge',
		});
		expect(samples.filter(({value}) => value !== 0).map(({name}) => name)).toEqual(['process_resident_memory_bytes']);
	});

	test('counts connections, sessions, requests, processes and output', async () => {
		const {url, http} = await listening('--retain-closed', '1ms');
		const client = await joined(url);
		expect(await run(client, 'ok', 'echo 1234567')).toBe(0);
		expect(await run(client, 'bad', 'echo 123; exit 1')).toBe(1);
		await client.sh('killed', 'cat', OPEN_STDIN);
		const during = await metrics(http);
		expect(valueOf(during, 'exec_server_processes_active')).toBe(1);
		await client.call('process/terminate', {processId: 'killed'});
		await client.event('killed', 'process/closed');
		await client.sh('limited', 'exec sleep 1000', {timeoutMs: 1});
		await client.event('limited', 'process/closed');
		await refusal(client.start('missing', ['/no/such/program']));
		// Forgotten processes stay in the counters.
		while ((await client.call<{processes: unknown[]}>('process/list')).processes.length > 0);
		const after = await metrics(http);
		const websocket = {transport: 'websocket'};
		const started = {method: 'process/start'};
		const told = {
			connections: valueOf(after, 'exec_server_connections_total', websocket),
			open: valueOf(after, 'exec_server_connections_active', websocket),
			sessions: valueOf(after, 'exec_server_sessions_active'),
			starts: valueOf(after, 'exec_server_requests_total', {...started, result: 'success'}),
			refused: valueOf(after, 'exec_server_requests_total', {...started, result: 'error'}),
			timed: valueOf(after, 'exec_server_request_duration_seconds_count', started),
			active: valueOf(after, 'exec_server_processes_active'),
			succeeded: valueOf(after, 'exec_server_processes_finished_total', {result: 'success'}),
			failed: valueOf(after, 'exec_server_processes_finished_total', {result: 'error'}),
			terminated: valueOf(after, 'exec_server_processes_finished_total', {result: 'terminated'}),
			lifetimes: valueOf(after, 'exec_server_process_duration_seconds_count', {result: 'terminated'}),
			output: valueOf(after, 'exec_server_output_bytes_total'),
			retained: valueOf(after, 'exec_server_retained_bytes'),
		};
		expect(told).toEqual({
			connections: 1,
			open: 1,
			sessions: 1,
			starts: 4,
			refused: 1,
			timed: 5,
			active: 0,
			succeeded: 1,
			failed: 1,
			terminated: 2,
			lifetimes: 2,
			output: 12,
			retained: 0,
		});
	});

	test('has one series for all methods nobody knows', async () => {
		const {url, http} = await listening();
		const client = await joined(url);
		for (const method of ['no/such', 'x"y', 'line\nend', String.raw`back\slash`, 'constructor', '']) {
			expect(await refusal(client.call(method))).toMatchObject({code: -32601});
		}
		const {samples} = await metrics(http);
		const requests = samples.filter(({name}) => name === 'exec_server_requests_total');
		expect(requests).toEqual([
			{name: 'exec_server_requests_total', labels: {method: 'initialize', result: 'success'}, value: 1},
			{name: 'exec_server_requests_total', labels: {method: 'unknown', result: 'error'}, value: 6},
		]);
	});

	test('tells how long processes were made to wait by those who do not read', async () => {
		const {url, http} = await listening();
		const socket = await connected(url);
		const send = (message: unknown): void => socket.send(JSON.stringify(message));
		send({id: 1, method: 'initialize', params: {clientName: 'slow'}});
		send({method: 'initialized'});
		socket.pause();
		const env = {};
		send({
			id: 2,
			method: 'process/start',
			params: {processId: 'p', argv: ['/usr/bin/yes'], cwd: '/', env, tty: false},
		});
		const paused = async (): Promise<number> =>
			valueOf(await metrics(http), 'exec_server_backpressure_seconds_total') ?? 0;
		let first = 0;
		while (first === 0) first = await paused();
		expect(await paused()).toBeGreaterThan(first);
	});
});

describe('the pages', () => {
	test.each(['/healthz', '/metrics', '/readyz'])('%s is for no web page, and only to be looked at', async path => {
		const {http} = await listening();
		const origin = {origin: 'http://localhost'};
		expect(await page(`${http}${path}`, {headers: origin})).toMatchObject({status: 403, body: ''});
		expect(await page(`${http}${path}`, {method: 'POST'})).toMatchObject({status: 405, body: ''});
		expect(await page(`${http}${path}`, {method: 'HEAD'})).toMatchObject({status: 200, body: ''});
		expect(await page(`${http}${path}?verbose=1`)).toMatchObject({status: 200});
		expect(await page(`${http}${path}/more`)).toMatchObject({status: 404, body: ''});
	});

	test('are no place for a WebSocket', async () => {
		const {url} = await listening();
		expect(await refusedWith(`${url}/metrics`)).toBeDefined();
		expect(await refusedWith(url)).toBeUndefined();
	});
});

test('more connections than there may be are turned away with 503, until one closes', async () => {
	const {url, http} = await listening('--max-connections', '2');
	const [first, second] = [await joined(url), await joined(url)];
	expect([await refusedWith(url), await refusedWith(url)]).toEqual([503, 503]);
	expect(await health(http)).toMatchObject({status: 'ok', connections: 2});
	expect(await run(first, 'p', 'exit 3')).toBe(3);
	await disconnect({url, client: second});
	const third = await joined(url);
	expect(await run(third, 'p', 'exit 4')).toBe(4);
	expect(await refusedWith(url)).toBe(503);
});

test('logs at debug tell of sessions, processes and the trace of a request, and keep secrets', async () => {
	const {command, url} = await listening('--log-level', 'debug');
	const client = await joined(url);
	const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
	const params = {
		processId: 'job',
		argv: ['/bin/sh', '-c', 'echo "$2$TOKEN"; cat', 'sh', '--password', 'hunter2'],
		cwd: 'file:///tmp',
		env: {PATH: '/usr/bin:/bin', TOKEN: 'swordfish'},
		tty: false,
		...OPEN_STDIN,
	};
	await client.rpc.request('process/start', params, {trace: {traceparent}});
	await client.shows('job', 'hunter2swordfish');
	await client.write('job', 'open sesame', 'w');
	await refusal(client.start('job', ['/bin/echo', 'hunter2']));
	await refusal(client.start('other', ['/no/such/program', 'hunter2'], {env: {TOKEN: 'swordfish'}}));
	await client.call('process/closeStdin', {processId: 'job'});
	await client.event('job', 'process/closed');
	await disconnect({url, client});
	await command.logs('session detached');
	const lines = command.stderr
		.trim()
		.split('\n')
		.map(line => JSON.parse(line) as Record<string, unknown>);
	const session = client.sessionId;
	const about = (msg: string): unknown => lines.find(line => line['msg'] === msg);
	const stamp = {level: 'debug', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown};
	expect([about('session created'), about('session detached')]).toEqual([
		{...stamp, msg: 'session created', session},
		{...stamp, msg: 'session detached', session},
	]);
	const pid = expect.any(Number) as unknown;
	expect([about('process started'), about('process exited')]).toEqual([
		{
			...stamp,
			level: 'info',
			msg: 'process started',
			peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as unknown,
			...(process.platform === 'linux' && {user: process.geteuid!()}),
			session,
			process: 'job',
			pid,
			program: '/bin/sh',
			sandbox: 'none',
			trace: traceparent,
		},
		{...stamp, msg: 'process exited', session, process: 'job', pid, exitCode: 0, reason: 'exit'},
	]);
	for (const secret of ['hunter2', 'swordfish', '--password', 'TOKEN', 'sesame', '/usr/bin:/bin']) {
		expect(command.stderr).not.toContain(secret);
	}
});
