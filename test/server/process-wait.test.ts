import {expect, test} from 'vitest';
import {disconnect} from '../helpers/disconnect.js';
import {GatedBackend} from '../helpers/gated-backend.js';
import {joined, OPEN_STDIN, served, toldPids} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {waitTicks} from '../helpers/ticks.js';

const RUNNING = {exitCode: null, running: true, reason: null};

test('a wait is answered by the exit, all waits by the same one, and nothing stands behind them', async () => {
	const {client} = await served();
	await client.sh('p', 'read line; exit 7', OPEN_STDIN);
	const order: string[] = [];
	const waits = Array.from({length: 50}, async () => {
		const answer = await client.call('process/wait', {processId: 'p'});
		order.push('exit');
		return answer;
	});
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	order.push('status');
	await client.write('p', 'go\n', 'w');
	for (const answer of await Promise.all(waits)) expect(answer).toEqual({exitCode: 7, running: false, reason: 'exit'});
	expect(order.indexOf('status')).toBe(0);
});

test.each([0, 1, 20])('a wait of at most %i ms says that the process still runs', async timeoutMs => {
	const {client} = await served();
	await client.sh('p', 'read line', OPEN_STDIN);
	expect(await client.call('process/wait', {processId: 'p', timeoutMs})).toEqual(RUNNING);
	await client.write('p', 'go\n', 'w');
	expect(await client.call('process/wait', {processId: 'p', timeoutMs: 2 ** 40})).toEqual({
		exitCode: 0,
		running: false,
		reason: 'exit',
	});
});

test('a wait that may take longer than any timer does not end at once', async () => {
	const {client} = await served();
	await client.sh('p', 'read line', OPEN_STDIN);
	let answered = false;
	const wait = client.call('process/wait', {processId: 'p', timeoutMs: Number.MAX_SAFE_INTEGER}).then(answer => {
		answered = true;
		return answer;
	});
	// A timer that overflows fires after 1 ms; this round trip takes longer.
	expect(await client.call('process/wait', {processId: 'p', timeoutMs: 20})).toEqual(RUNNING);
	expect(answered).toBe(false);
	await client.write('p', 'go\n', 'w');
	expect(await wait).toEqual({exitCode: 0, running: false, reason: 'exit'});
});

test('a process that has exited is not waited for, whoever still holds its output', async () => {
	const {client} = await served();
	await client.sh('p', 'sleep 1000 & echo $!; exit 3');
	const [pid] = await toldPids(client, 'p', 1);
	await client.event('p', 'process/exited');
	const answer = {exitCode: 3, running: false, reason: 'exit'};
	expect(await client.call('process/wait', {processId: 'p'})).toEqual(answer);
	expect(client.about('p').some(({method}) => method === 'process/closed')).toBe(false);
	process.kill(pid!, 'SIGKILL');
	await client.event('p', 'process/closed');
	expect(await client.call('process/wait', {processId: 'p', timeoutMs: 0})).toEqual(answer);
});

const SH = (script: string): string[] => ['/bin/sh', '-c', script];
const SLEEP = ['/bin/sleep', '1000'];
const TIDY = SH(`trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done`);
const GRACEFUL = {mode: {graceful: {timeoutMs: 1_000_000}}};

test.each([
	['its own exit', SH('exit 143'), undefined, {exitCode: 143, reason: 'exit'}],
	['a signal from elsewhere', SH('kill -TERM $$'), undefined, {exitCode: 143, reason: 'signal'}],
	['a signal it was sent', SLEEP, ['process/signal', {signal: 'interrupt'}], {exitCode: 130, reason: 'signal'}],
	['a kill', SLEEP, ['process/terminate', {}], {exitCode: 137, reason: 'terminated'}],
	['a request it followed', TIDY, ['process/terminate', GRACEFUL], {exitCode: 0, reason: 'terminated'}],
] as const)('that a process ended by %s is told', async (_, argv, act, answer) => {
	const {client} = await served();
	await client.start('p', argv);
	if (argv === TIDY) await client.shows('p', 'ready');
	if (act) await client.call(act[0], {processId: 'p', ...act[1]});
	expect(await client.call('process/wait', {processId: 'p'})).toEqual({running: false, ...answer});
});

test('a wait behind a start that takes its time waits for the start, too', async () => {
	const backend = new GatedBackend();
	const {client} = await served({backend: () => backend});
	const start = client.sh('p', 'exit 5');
	const wait = client.call('process/wait', {processId: 'p'});
	await eventually(() => backend.waiting === 1);
	backend.open();
	expect(await start).toEqual({processId: 'p', sandboxType: 'none'});
	expect(await wait).toEqual({exitCode: 5, running: false, reason: 'exit'});
});

test('a connection that goes while its wait stands behind a start breaks nothing', async () => {
	const errors: unknown[] = [];
	const logger = {
		debug() {},
		info() {},
		warn() {},
		error: (message: string, fields?: unknown) => void errors.push([message, fields]),
		with: () => logger,
	};
	const backend = new GatedBackend();
	const {server, url, client} = await served({backend: () => backend, logger});
	for (const call of [client.sh('p', 'echo here'), client.call('process/wait', {processId: 'p'})]) call.catch(() => {});
	await eventually(() => backend.waiting === 1);
	await disconnect({server, client});
	backend.open();
	const again = await joined(url, client.sessionId);
	expect(await again.call('process/wait', {processId: 'p'})).toEqual({exitCode: 0, running: false, reason: 'exit'});
	await waitTicks();
	expect(errors).toEqual([]);
});
