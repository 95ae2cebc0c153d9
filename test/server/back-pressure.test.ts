import {existsSync, readFileSync} from 'node:fs';
import {join as joinPath} from 'node:path';
import {expect, test} from 'vitest';
import type {ManagedProcess} from '../../src/processes/managed-process.js';
import {OUTPUT_HIGH_WATER_BYTES} from '../../src/server/connection/flow-control.js';
import {disconnect} from '../helpers/disconnect.js';
import {countedFile} from '../helpers/files.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {type Joined, join, serving} from '../helpers/serving.js';
import type {TestClient} from '../helpers/test-client.js';

const MiB = 1024 * 1024;

async function runOne(client: TestClient, processId: string): Promise<void> {
	await client.sh(processId, 'echo done');
	expect((await client.done(processId)).stdout).toBe('done\n');
}

/** Starts a flood for a client that does not read, and waits until the server holds no more of it. */
async function stuck(
	{client, end, socket}: Joined,
	other: TestClient,
	argv: string[],
	extra?: Record<string, unknown>,
): Promise<ManagedProcess> {
	socket.pause();
	client.start('flood', argv, extra).catch(() => {});
	const process = await eventually(() => end.session.processes.find('flood'));
	await eventually(() => process.log.totalBytes > 0);
	// Whole processes that run three times over give the flood all the time it needs to go on, if it can.
	for (let round = 0, still = 0, before = -1; still < 3; round++) {
		await runOne(other, `meanwhile-${round}`);
		const full = end.rpc.backlog >= OUTPUT_HIGH_WATER_BYTES;
		still = full && process.log.totalBytes === before ? still + 1 : 0;
		before = process.log.totalBytes;
	}
	return process;
}

function stateOf(process: ManagedProcess): string {
	if (process.state.kind !== 'running') return process.state.kind;
	return readFileSync(`/proc/${process.state.child.pid}/stat`, 'latin1').split(') ')[1]!.slice(0, 1);
}

test('a client that does not read makes its child wait, nobody else, and loses nothing', async () => {
	const {path, content} = countedFile(64 * MiB);
	const host = await serving();
	const [reader, slow] = [await join(host), await join(host)];
	const process = await stuck(slow, reader.client, ['/bin/cat', path]);
	for (let count = 0; count < 20; count++) await runOne(reader.client, `p${count}`);
	expect(process.log.totalBytes).toBeLessThan(16 * MiB);
	expect(process.log.retainedBytes).toBeLessThan(2 * MiB);
	await eventually(() => stateOf(process) === 'S');
	slow.socket.resume();
	await slow.client.event('flood', 'process/closed');
	expect(slow.client.output('flood').equals(content)).toBe(true);
	const numbers = slow.client.about('flood').map(({params}) => params.seq);
	expect(numbers).toEqual(Array.from(numbers, (_, index) => index + 1));
});

test('the same holds for a terminal', async () => {
	const host = await serving();
	const [reader, slow] = [await join(host), await join(host)];
	const script = 'stty raw; exec head -c 30000000 /dev/zero';
	const process = await stuck(slow, reader.client, ['/bin/sh', '-c', script], {tty: true});
	expect(process.log.totalBytes).toBeLessThan(16_000_000);
	await eventually(() => stateOf(process) === 'S');
	slow.client.discardOutput = true;
	slow.socket.resume();
	await slow.client.event('flood', 'process/closed');
	expect(process.log.totalBytes).toBe(30_000_000);
});

test('a child that waits for its client goes on when the connection is lost', async () => {
	const over = joinPath(scratchDirectory(), 'over');
	const host = await serving();
	const [reader, slow] = [await join(host), await join(host)];
	await stuck(slow, reader.client, ['/bin/sh', '-c', `head -c ${64 * MiB} /dev/zero; touch ${over}`]);
	expect(existsSync(over)).toBe(false);
	await disconnect(slow);
	await eventually(() => existsSync(over));
	const {client} = await join(host, slow.client.sessionId);
	expect(await client.call('process/read', {processId: 'flood', waitMs: 10_000})).toMatchObject({
		missedBytes: expect.any(Number) as number,
	});
});

test('a child that waits for its client can be terminated, and what it said before is delivered', async () => {
	const {path, content} = countedFile(32 * MiB);
	const host = await serving();
	const [reader, slow] = [await join(host), await join(host)];
	const process = await stuck(slow, reader.client, ['/bin/cat', path]);
	const terminated = slow.client.call('process/terminate', {processId: 'flood'});
	await eventually(() => process.state.kind === 'closed');
	slow.socket.resume();
	expect(await terminated).toEqual({running: true});
	expect((await slow.client.event('flood', 'process/exited'))['exitCode']).toBe(137);
	await slow.client.event('flood', 'process/closed');
	const said = slow.client.output('flood');
	expect(said.length).toBe(process.log.totalBytes);
	expect(said.equals(content.subarray(0, said.length))).toBe(true);
});

test('floods of several processes on one connection all arrive complete', async () => {
	const host = await serving();
	const {client} = await join(host);
	const files = [countedFile(8 * MiB), countedFile(8 * MiB), countedFile(8 * MiB)];
	await Promise.all(files.map(({path}, index) => client.start(`p${index}`, ['/bin/cat', path])));
	for (const [index, {content}] of files.entries()) {
		await client.event(`p${index}`, 'process/closed');
		expect(client.output(`p${index}`).equals(content)).toBe(true);
	}
});

test('retained output stays what it was while others use the memory of what was evicted', async () => {
	const host = await serving();
	const {client} = await join(host);
	const {path, content} = countedFile(16 * MiB);
	await client.start('kept', ['/usr/bin/head', '-c', String(MiB), path]);
	await client.event('kept', 'process/closed');
	await Promise.all(['a', 'b', 'c'].map(id => client.start(id, ['/bin/cat', path])));
	for (const id of ['a', 'b', 'c']) await client.event(id, 'process/closed');
	for (const [id, expected] of [
		['kept', content.subarray(0, MiB)],
		['a', content.subarray(15 * MiB)],
	] as const) {
		const {chunks} = await client.call<{chunks: {chunk: string}[]}>('process/read', {processId: id});
		const retained = Buffer.concat(chunks.map(({chunk}) => Buffer.from(chunk, 'base64')));
		expect(retained.length).toBeGreaterThan(MiB - 128 * 1024);
		expect(retained.equals(expected.subarray(-retained.length))).toBe(true);
	}
});
