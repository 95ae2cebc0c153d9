import {createServer} from 'node:net';
import {expect, onTestFinished, test, vi} from 'vitest';
import type {Backend, Child} from '../../../src/processes/backends/backend.js';
import {createChildProcessBackend} from '../../../src/processes/backends/node/child-process-backend.js';
import {type WaitConditions, waitForConditions} from '../../../src/processes/wait/wait-conditions.js';
import {Lifetime} from '../../../src/shared/async/lifetime.js';
import {nativeBackend, PIPES, PIPES_WITH_STDIN, PTY} from '../../helpers/children.js';
import {stopClock} from '../../helpers/clock.js';
import type {Managed} from '../../helpers/managed.js';
import {eventually} from '../../helpers/processes.js';
import {waitTicks} from '../../helpers/ticks.js';
import {failureOf, NO_CONDITION, running} from '../../helpers/waiting.js';

const RUNNING = {exitCode: null, reason: null};

function waiting({process}: Managed, conditions: Partial<WaitConditions>, lifetime = new Lifetime()) {
	onTestFinished(() => lifetime.close());
	return waitForConditions(process, {...NO_CONDITION, ...conditions}, lifetime, 'account');
}

test('an exit is told with its code, before and after it', async () => {
	const managed = await running('read line; exit 7');
	const wait = waiting(managed, {exit: true});
	managed.process.closeStdin();
	const outcome = {by: 'exit', seq: 1, exitCode: 7, reason: 'exit'};
	expect(await wait).toEqual(outcome);
	await managed.reaches('closed');
	expect(await waiting(managed, {exit: true, pattern: 'x'})).toEqual({...outcome, seq: 2});
});

test('output that matches is told with its groups', async () => {
	const managed = await running('echo "ready on port 8080"; cat');
	expect(await waiting(managed, {pattern: String.raw`port (\d+)`, exit: true})).toEqual({
		by: 'pattern',
		match: {text: 'port 8080', groups: ['8080'], end: {seq: 1, offset: 18}},
		seq: 1,
		...RUNNING,
	});
});

test('output before an exit counts before the exit, and the end of output before the end', async () => {
	const managed = await running('echo last words; exit 3');
	await managed.reaches('closed');
	const found = {
		by: 'pattern',
		match: {text: 'words', groups: [], end: {seq: 1, offset: 10}},
		seq: 1,
		exitCode: 3,
		reason: 'exit',
	};
	expect(await waiting(managed, {pattern: 'words', exit: true})).toEqual(found);
	expect(await waiting(managed, {pattern: 'words'})).toEqual(found);
	expect(await waiting(managed, {pattern: 'words', timeoutMs: 0})).toEqual(found);
	expect(await waiting(managed, {pattern: 'other'})).toEqual({by: 'ended', seq: 3, exitCode: 3, reason: 'exit'});
});

test('a wait that nothing can end any more is told so', async () => {
	const managed = await running('read line');
	const waits = [{input: true}, {silenceMs: 1_000_000}, {port: 1}].map(each =>
		waiting(managed, {...each, pattern: 'never'}),
	);
	managed.process.closeStdin();
	for (const outcome of await Promise.all(waits)) {
		expect(outcome).toEqual({by: 'ended', seq: 2, exitCode: 1, reason: 'exit'});
	}
});

test('a wait ends after its time, and the process runs on', async () => {
	const managed = await running('read line');
	expect(await waiting(managed, {exit: true, timeoutMs: 1})).toEqual({by: 'timeout', seq: 0, ...RUNNING});
	expect(await waiting(managed, {pattern: 'x', timeoutMs: 0})).toEqual({by: 'timeout', seq: 0, ...RUNNING});
	expect(managed.process.isAlive).toBe(true);
});

test('silence begins anew with every piece of output', async () => {
	const managed = await running('while read line; do echo "$line"; done');
	stopClock();
	let isOver = false;
	const wait = waiting(managed, {silenceMs: 100}).finally(() => {
		isOver = true;
	});
	for (const word of ['one', 'two', 'three']) {
		vi.advanceTimersByTime(99);
		await managed.process.write(Buffer.from(`${word}\n`), undefined);
		await managed.shows(word);
	}
	await waitTicks();
	expect(isOver).toBe(false);
	vi.advanceTimersByTime(100);
	expect(await wait).toEqual({by: 'silence', seq: 3, ...RUNNING});
});

test('a port that is listened on is told, whoever listens', async () => {
	const managed = await running('read line', PIPES_WITH_STDIN);
	const server = createServer();
	onTestFinished(() => void server.close());
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	const {port} = server.address() as {port: number};
	expect(await waiting(managed, {port})).toEqual({by: 'port', seq: 0, ...RUNNING});
	managed.process.closeStdin();
	await managed.reaches('closed');
	expect(await waiting(managed, {port})).toMatchObject({by: 'port', exitCode: 1});
});

test('a prompt is told, and the next one when it was answered', async () => {
	const managed = await running(
		'printf "Name: "; read name; stty -echo; printf "Password: "; read word; echo; sleep 1000',
		PTY,
	);
	expect(await waiting(managed, {input: true})).toMatchObject({by: 'input', waitingFor: 'input', isGuess: false});
	await managed.process.write(Buffer.from('me\n'), undefined);
	await managed.shows('Password');
	expect(await waiting(managed, {input: true})).toMatchObject({by: 'input', waitingFor: 'password', isGuess: false});
});

test('where it cannot be told, nobody waits for input in vain', async () => {
	const managed = await running('cat', PIPES_WITH_STDIN, {}, createChildProcessBackend());
	expect(await failureOf((async () => waiting(managed, {input: true}))())).toMatchObject({code: 'NOT_SUPPORTED'});
	const withoutInput = await running('exit 4', PIPES, {}, createChildProcessBackend());
	expect(await waiting(withoutInput, {input: true})).toMatchObject({by: 'ended', exitCode: 4});
});

/** Counts the looks at the input of its children. */
function countingBackend(): {backend: Backend; looks: () => number} {
	let looks = 0;
	const native = nativeBackend();
	const spawn: Backend['spawn'] = (request, events) => {
		const child = native.spawn(request, events) as Child;
		const look = child.inputProbe!;
		const inputProbe = () => {
			looks++;
			return look();
		};
		return Object.assign(child, {inputProbe});
	};
	return {backend: {name: 'counting', spawn}, looks: () => looks};
}

test('waits for the input of one process share their looks, which end with the last of them', async () => {
	const {backend, looks} = countingBackend();
	const managed = await running('echo ready; sleep 1000', PIPES_WITH_STDIN, {}, backend);
	await managed.shows('ready');
	stopClock();
	const lifetimes = [new Lifetime(), new Lifetime(), new Lifetime()];
	for (const lifetime of lifetimes) void waiting(managed, {input: true}, lifetime);
	expect(looks()).toBe(0);
	vi.advanceTimersToNextTimer();
	expect(looks()).toBe(1);
	vi.advanceTimersToNextTimer();
	expect(looks()).toBe(2);
	for (const lifetime of lifetimes) lifetime.close();
	expect(vi.getTimerCount()).toBe(0);
});

const countTimers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;

test('a wait that is cut off never settles, and leaves no timer behind', async () => {
	const managed = await running('echo ready; read line; echo done');
	await managed.shows('ready');
	const before = countTimers();
	const lifetime = new Lifetime();
	let settled = 0;
	const conditions = {exit: true, pattern: 'done', port: 1, silenceMs: 1_000_000, input: false, timeoutMs: 1_000_000};
	for (let count = 0; count < 10; count++) void waiting(managed, conditions, lifetime).finally(() => settled++);
	expect(countTimers()).toBeGreaterThan(before);
	lifetime.close();
	await eventually(() => countTimers() <= before);
	managed.process.closeStdin();
	await managed.reaches('closed');
	void waiting(managed, {exit: true}, lifetime).finally(() => settled++);
	await waitTicks();
	expect(settled).toBe(0);
});
