// covers: src/server/connection/dispatch.ts, src/processes/process-table.ts
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {GatedBackend} from '../helpers/gated-backend.js';
import {outcomeOf, terminate} from '../helpers/process-api.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {join, serving} from '../helpers/serving.js';
import {waitTicks} from '../helpers/ticks.js';

/** A server whose children start when the test says so, and a client. */
async function gated() {
	const backend = new GatedBackend();
	const host = await serving({backend: () => backend});
	const {client, end} = await join(host);
	const untilWaiting = (count: number) => eventually(() => backend.waiting === count);
	return {backend, client, end, untilWaiting};
}

test('what is sent right behind a start finds the process', async () => {
	const {client} = await join(await serving());
	const [started, written, page] = await Promise.all([
		client.sh('p', 'read line; echo "$line"; exec sleep 1000', {pipeStdin: true}),
		client.write('p', 'hello\n', 'w'),
		client.call('process/read', {processId: 'p', waitMs: 100_000}),
	]);
	expect(started).toEqual({processId: 'p', sandboxType: 'none'});
	expect(written).toEqual({status: 'accepted'});
	expect(page).toMatchObject({chunks: [{seq: 1, stream: 'stdout', chunk: 'aGVsbG8K'}], nextSeq: 2});
	expect(await terminate(client, 'p')).toEqual({running: true});
});

test('a terminate right behind its start leaves nothing running', async () => {
	const {client, end} = await join(await serving());
	for (let count = 0; count < 20; count++) {
		const id = `p${count}`;
		const [start, terminated] = await Promise.all([outcomeOf(client.sh(id, 'exec sleep 1000')), terminate(client, id)]);
		expect(terminated).toEqual({running: true});
		expect(['accepted', {code: -32600, message: `process ${id} start was cancelled`}]).toContainEqual(start);
		if (start === 'accepted') await client.event(id, 'process/closed');
	}
	expect([...end.session.processes].filter(({state}) => state.kind !== 'closed')).toEqual([]);
});

test('an id is taken from the moment the start was sent', async () => {
	const {client} = await join(await serving());
	const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(client.sh('same', 'exec sleep 1000'))));
	const taken = {code: -32600, message: 'process same already exists'};
	expect(outcomes).toEqual(['accepted', taken, taken]);
	await terminate(client, 'same');
});

test('an id whose start failed is free again at once', async () => {
	const {client} = await join(await serving());
	const failed = outcomeOf(client.start('p', ['/no/such/program']));
	expect(await failed).toMatchObject({code: -32603, message: 'No such file or directory (os error 2)'});
	await client.sh('p', 'echo works');
	expect((await client.done('p')).stdout).toBe('works\n');
});

test('writes keep their order, pipelined in any sizes and mixed with other requests', async () => {
	const host = await serving();
	const {client} = await join(host);
	let run = 0;
	const sizes = fc.array(fc.integer({min: 0, max: 3000}), {minLength: 1, maxLength: 300});
	await fc.assert(
		fc.asyncProperty(sizes, fc.boolean(), async (lengths, afterStart) => {
			const id = `cat-${run++}`;
			const start = client.start(id, ['/bin/cat'], {pipeStdin: true});
			if (afterStart) await start;
			const texts = lengths.map((length, index) => `${index}:${'x'.repeat(length)};`);
			const replies = texts.map((text, index) => {
				if (index % 7 === 0) client.call('environment/status').catch(() => {});
				return client.write(id, text, `w${index}`);
			});
			expect(await Promise.all(replies)).toEqual(texts.map(() => ({status: 'accepted'})));
			const expected = texts.join('');
			await client.until(() => client.output(id).length >= expected.length);
			expect(client.output(id).toString()).toBe(expected);
			await terminate(client, id);
			await client.event(id, 'process/closed');
		}),
		{numRuns: 10},
	);
});

test('a write sent before a terminate is accepted, one sent behind it is refused', async () => {
	const {client} = await join(await serving());
	await client.sh('p', 'exec sleep 1000', {pipeStdin: true});
	const outcomes = await Promise.all([
		outcomeOf(client.write('p', 'before', 'w1')),
		terminate(client, 'p'),
		outcomeOf(client.write('p', 'behind', 'w2')),
		outcomeOf(client.write('p', 'before', 'w1')),
	]);
	expect(outcomes).toEqual([
		'accepted',
		{running: true},
		{code: -32603, message: 'failed to write to process stdin'},
		'accepted',
	]);
});

test('requests behind a start that takes its time wait for it, and nothing else does', async () => {
	const {backend, client, untilWaiting} = await gated();
	const answered: string[] = [];
	const requests = [
		client.sh('p', 'trap "echo interrupted; exit 3" INT; read line; echo "$line"; while :; do sleep 0.01; done', {
			pipeStdin: true,
		}),
		client.write('p', 'first\n', 'w1'),
		client.call('process/read', {processId: 'p', waitMs: 100_000}),
	].map(request => request.finally(() => answered.push('behind the start')));
	await untilWaiting(1);
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	await waitTicks();
	expect(answered).toEqual([]);
	backend.open();
	expect(await Promise.all(requests)).toMatchObject([
		{processId: 'p'},
		{status: 'accepted'},
		{chunks: [{chunk: Buffer.from('first\n').toString('base64')}]},
	]);
	expect(await client.call('process/signal', {processId: 'p', signal: 'interrupt'})).toEqual({});
	expect(await client.done('p')).toMatchObject({exitCode: 3, stdout: 'first\ninterrupted\n'});
});

test('a signal behind a start that takes its time reaches the process', async () => {
	const {backend, client, untilWaiting} = await gated();
	const start = client.sh('p', 'exec sleep 1000');
	const signalled = client.call('process/signal', {processId: 'p', signal: 'interrupt'});
	await untilWaiting(1);
	backend.open();
	await start;
	expect(await signalled).toEqual({});
	expect((await client.event('p', 'process/exited'))['exitCode']).toBe(130);
});

test('a terminate cancels a start that takes its time, and a child that starts anyway is killed', async () => {
	const {backend, client, end, untilWaiting} = await gated();
	const start = outcomeOf(client.sh('p', 'exec sleep 1000'));
	await untilWaiting(1);
	expect(await terminate(client, 'p')).toEqual({running: true});
	expect(await start).toEqual({code: -32600, message: 'process p start was cancelled'});
	expect([...end.session.processes]).toEqual([]);
	expect(await terminate(client, 'p')).toEqual({running: false});
	backend.open();
	await untilDead(backend.children[0]!.pid);
	await waitTicks();
	expect(client.events).toEqual([]);
});

test('a start that was cancelled leaves its id and nothing else to those right behind it', async () => {
	const {backend, client, untilWaiting} = await gated();
	const cancelled = outcomeOf(client.sh('p', 'exec sleep 1000', {pipeStdin: true}));
	const outcomes = Promise.all([
		terminate(client, 'p'),
		outcomeOf(client.call('process/read', {processId: 'p', waitMs: 1_000_000})),
		client.write('p', 'lost', 'w'),
		client.call('process/signal', {processId: 'p', signal: 'interrupt'}),
		terminate(client, 'p'),
	]);
	const again = client.sh('p', 'echo again');
	expect(await outcomes).toEqual([
		{running: true},
		{code: -32600, message: 'unknown process id p'},
		{status: 'unknownProcess'},
		{},
		{running: false},
	]);
	expect(await cancelled).toMatchObject({code: -32600});
	await untilWaiting(2);
	backend.open();
	expect(await again).toEqual({processId: 'p', sandboxType: 'none'});
	expect((await client.done('p')).stdout).toBe('again\n');
});

test('requests behind a start that fails find nothing', async () => {
	const {backend, client, untilWaiting} = await gated();
	const start = outcomeOf(client.start('p', ['/no/such/program']));
	const read = outcomeOf(client.call('process/read', {processId: 'p'}));
	const write = client.write('p', 'x', 'w');
	await untilWaiting(1);
	backend.open();
	expect(await start).toMatchObject({code: -32603, message: 'No such file or directory (os error 2)'});
	expect(await read).toEqual({code: -32600, message: 'unknown process id p'});
	expect(await write).toEqual({status: 'unknownProcess'});
});
