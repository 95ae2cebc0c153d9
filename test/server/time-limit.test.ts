import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {TIME_LIMIT_GRACE_MS} from '../../src/processes/managed-process.js';
import {listed, OPEN_STDIN, served, snapshotOf, TERMINAL, toldPids} from '../helpers/process-api.js';
import {isAlive, untilDead} from '../helpers/processes.js';

const LIMIT_MS = 60_000;
// The shell comments on what signals do to its children.
const STUBBORN = `trap 'echo asked' TERM; echo $$; echo trouble >&2; exec 2>/dev/null; while :; do sleep 0.02; done`;

// The clock of the server is set by hand; the processes are real and live by their own.
beforeEach(() => {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
});

afterEach(() => {
	vi.useRealTimers();
});

test.each([
	['on pipes', {}],
	['on a terminal', TERMINAL],
])('a process %s is asked to end at its time limit, and what it said until then is kept', async (_, io) => {
	const {client} = await served();
	const script = `exec 2>/dev/null; trap 'echo cleaned up; exit 3' TERM; echo partial; while :; do sleep 0.02; done`;
	await client.sh('p', script, {timeoutMs: LIMIT_MS, ...io});
	await client.shows('p', 'partial');
	vi.advanceTimersByTime(LIMIT_MS - 1);
	expect((await snapshotOf(client, 'p')).running).toBe(true);
	vi.advanceTimersByTime(1);
	const {exitCode, stdout, pty} = await client.done('p');
	expect([exitCode, (stdout + pty).split(/\r?\n/)]).toEqual([3, ['partial', 'cleaned up', '']]);
	expect(await client.event('p', 'process/exited')).toMatchObject({exitCode: 3, reason: 'timeout'});
});

test('one that ignores it is killed after the grace, and every account of its end says why', async () => {
	const {client} = await served();
	await client.sh('p', STUBBORN, {timeoutMs: LIMIT_MS});
	const [pid] = await toldPids(client, 'p', 1);
	await client.shows('p', 'trouble');
	vi.advanceTimersByTime(LIMIT_MS);
	await client.shows('p', 'asked');
	vi.advanceTimersByTime(TIME_LIMIT_GRACE_MS - 1);
	expect(isAlive(pid!)).toBe(true);
	vi.advanceTimersByTime(1);
	expect(await client.done('p')).toEqual({
		exitCode: 137,
		stdout: `${pid}\nasked\n`,
		stderr: 'trouble\n',
		pty: '',
	});
	const end = {exitCode: 137, reason: 'timeout'};
	expect(await client.event('p', 'process/exited')).toEqual({
		processId: 'p',
		seq: expect.any(Number) as unknown,
		sandboxDenied: false,
		...end,
	});
	expect(await client.call('process/wait', {processId: 'p'})).toEqual({running: false, ...end});
	expect(await listed(client, 'p')).toMatchObject({state: 'closed', ...end});
	expect(await snapshotOf(client, 'p')).toMatchObject({stdout: Buffer.from(`${pid}\nasked\n`), running: false, ...end});
});

test('a process that ends in time ends as if there was no limit', async () => {
	const {client} = await served({retainClosedMs: LIMIT_MS * 100});
	await client.sh('p', 'read line; exit 4', {timeoutMs: LIMIT_MS, ...OPEN_STDIN});
	await client.write('p', 'go\n', 'w');
	expect((await client.done('p')).exitCode).toBe(4);
	vi.advanceTimersByTime(LIMIT_MS * 10);
	expect(await client.event('p', 'process/exited')).not.toHaveProperty('reason');
	expect(await client.call('process/wait', {processId: 'p'})).toEqual({exitCode: 4, running: false, reason: 'exit'});
});

test('a process that was told to end before its time limit was terminated by that', async () => {
	const {client} = await served();
	await client.sh('p', STUBBORN, {timeoutMs: LIMIT_MS});
	const [pid] = await toldPids(client, 'p', 1);
	await client.call('process/terminate', {processId: 'p', mode: {graceful: {timeoutMs: LIMIT_MS * 2}}});
	vi.advanceTimersByTime(LIMIT_MS);
	vi.advanceTimersByTime(TIME_LIMIT_GRACE_MS);
	expect(await client.call('process/wait', {processId: 'p'})).toEqual({
		exitCode: 137,
		running: false,
		reason: 'terminated',
	});
	await untilDead(pid!);
});

test('the limit holds while nobody is connected', async () => {
	const {client} = await served();
	await client.sh('p', 'echo $$; exec sleep 1000', {timeoutMs: LIMIT_MS});
	const [pid] = await toldPids(client, 'p', 1);
	client.rpc.destroy();
	await client.untilClosed();
	expect(isAlive(pid!)).toBe(true);
	vi.advanceTimersByTime(LIMIT_MS);
	await untilDead(pid!);
});
