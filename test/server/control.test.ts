// covers: src/processes/start-queue.ts, src/processes/stdin-queue.ts, src/server/connection/output-pump.ts
import {expect, test} from 'vitest';
import {MAX_QUEUED_STDIN_CHUNKS} from '../../src/processes/stdin-queue.js';
import {terminate} from '../helpers/process-api.js';
import {isAlive} from '../helpers/processes.js';
import {join, serving} from '../helpers/serving.js';

/** Notes in which order calls are answered. */
function inOrder(): {note: <T>(name: string, call: Promise<T>) => Promise<T>; order: string[]} {
	const order: string[] = [];
	const note = <T>(name: string, call: Promise<T>): Promise<T> => {
		const noted = call.finally(() => order.push(name));
		noted.catch(() => {});
		return noted;
	};
	return {note, order};
}

test('long polls keep nothing waiting, not even the terminate of what they poll', async () => {
	const {client} = await join(await serving());
	const {note, order} = inOrder();
	await client.sh('p', 'exec sleep 1000');
	const polls = Array.from({length: 200}, () =>
		note('poll', client.call('process/read', {processId: 'p', waitMs: 1_000_000})),
	);
	expect(await note('status', client.call('environment/status'))).toEqual({status: 'ready'});
	expect(await note('start', client.sh('q', 'true'))).toEqual({processId: 'q', sandboxType: 'none'});
	expect(await note('terminate', terminate(client, 'p'))).toEqual({running: true});
	const ended = {exited: true, exitCode: 137};
	for (const poll of await Promise.all(polls)) expect(poll).toMatchObject(ended);
	// The end of the process answers the polls, and its survivors may be looked for a little longer.
	expect(order.slice(0, 2)).toEqual(['status', 'start']);
});

test.each([
	['a pipe', {pipeStdin: true}],
	['a terminal', {tty: true}],
])('a child that does not read %s makes only its own writers wait', async (_, extra) => {
	const {client} = await join(await serving());
	const {note, order} = inOrder();
	await client.sh('deaf', 'stty raw 2> /dev/null; echo ready; exec sleep 1000', extra);
	await client.shows('deaf', 'ready');
	const text = 'x'.repeat(64 * 1024);
	const count = MAX_QUEUED_STDIN_CHUNKS + 72;
	const writes = Array.from({length: count}, (__, index) => note('write', client.write('deaf', text, `w${index}`)));
	expect(await note('status', client.call('environment/status'))).toEqual({status: 'ready'});
	await client.sh('other', 'read line; echo "$line"', {pipeStdin: true});
	await client.write('other', 'served\n', 'w');
	expect((await client.done('other')).stdout).toBe('served\n');
	const accepted = order.filter(name => name === 'write').length;
	expect(accepted).toBeGreaterThanOrEqual(MAX_QUEUED_STDIN_CHUNKS);
	expect(accepted).toBeLessThan(count);
	expect(await note('terminate', terminate(client, 'deaf'))).toEqual({running: true});
	const outcomes = await Promise.allSettled(writes);
	expect(outcomes.slice(0, accepted).every(({status}) => status === 'fulfilled')).toBe(true);
	for (const outcome of outcomes.slice(accepted)) {
		expect(outcome).toMatchObject({reason: {code: -32603, message: 'failed to write to process stdin'}});
	}
});

test('requests are answered while a flood is on the same connection', async () => {
	const {client} = await join(await serving());
	client.discardOutput = true;
	await client.start('flood', ['/bin/cat', '/dev/zero']);
	for (let count = 0; count < 50; count++) {
		const before = client.discardedChunks;
		expect(await client.call('environment/status')).toEqual({status: 'ready'});
		await client.until(() => client.discardedChunks > before);
	}
	expect(await terminate(client, 'flood')).toEqual({running: true});
	expect((await client.event('flood', 'process/exited'))['exitCode']).toBe(137);
	await client.event('flood', 'process/closed');
});

test.each([
	['reads the answers', false],
	['reads none before it has sent all', true],
])('10,000 requests are all answered, in order, to a client that %s', async (_, unread) => {
	const {client, socket} = await join(await serving());
	const {note, order} = inOrder();
	if (unread) socket.pause();
	const names = Array.from({length: 10_000}, (__, index) => String(index));
	const calls = names.map(name => note(name, client.call('environment/status')));
	if (unread) {
		await new Promise<void>(resolve => socket.write('', () => resolve()));
		socket.resume();
	}
	const answers = await Promise.all(calls);
	expect(new Set(answers.map(answer => JSON.stringify(answer)))).toEqual(new Set(['{"status":"ready"}']));
	expect(order).toEqual(names);
});

test('2,000 starts hold up neither a terminate behind them nor the start of somebody else', async () => {
	const host = await serving();
	const [{client}, {client: other}] = [await join(host), await join(host)];
	const {note, order} = inOrder();
	await client.sh('before', 'echo $$; exec sleep 1000');
	await client.shows('before', '\n');
	const pid = Number(client.output('before'));
	client.discardOutput = true;
	const ids = Array.from({length: 2000}, (_, index) => `p${index}`);
	const starts = ids.map(id => note('start', client.start(id, ['/bin/true'])));
	const terminated = note('terminate', terminate(client, 'before'));
	const elsewhere = note('elsewhere', other.sh('single', 'true'));
	expect(await terminated).toEqual({running: true});
	await client.event('before', 'process/closed');
	expect(isAlive(pid)).toBe(false);
	await elsewhere;
	await Promise.all(starts);
	// Some starts are answered while the rest is still being read; most are not.
	expect(order.indexOf('terminate')).toBeLessThan(1000);
	expect(order.indexOf('elsewhere')).toBeLessThan(1000);
	// Exit and close of each, and the one line that came first.
	await client.until(() => client.events.length === 2 * 2001 + 1);
	const codes = client.events.filter(({method}) => method === 'process/exited').map(({params}) => params['exitCode']);
	expect(codes.filter(code => code === 0)).toHaveLength(2000);
});
