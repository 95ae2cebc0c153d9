// covers: src/server/connection/shared-output.ts, src/transports/node/frame-pools.ts, src/protocol/wire/shared-frame.ts
import {expect, test} from 'vitest';
import {OPEN_STDIN} from '../../helpers/process-api.js';
import {scratchDirectory as scratch} from '../../helpers/scratch.js';
import {join, type Serving, serving} from '../../helpers/serving.js';
import type {TestClient} from '../../helpers/test-client.js';

const NUMBERS = Array.from({length: 400_000}, (_, index) => `${index + 1}\n`).join('');
/** Waits for a line of input, so that all are attached before. */
const COUNT = 'read line; echo begun; seq 400000';

interface Gap {
	readonly missedBytes: number;
}

async function attached(place: Serving, count: number): Promise<Awaited<ReturnType<typeof join>>[]> {
	const all = [];
	for (let index = 0; index < count; index++) {
		const joined = await join(place);
		await joined.client.call('process/attach', {process: 'job', role: 'observe', afterSeq: 0});
		all.push(joined);
	}
	return all;
}

function missedBytes(client: TestClient): number {
	const gaps = client.about('job').filter(({method}) => method === 'process/gap');
	return gaps.reduce((sum, {params}) => sum + (params as unknown as Gap).missedBytes, 0);
}

async function write(client: TestClient): Promise<void> {
	await client.call('process/write', {processId: 'job', chunk: Buffer.from('\n').toString('base64')});
}

test('all clients of a process get the same bytes, small and large chunks, from memory and from disk', async () => {
	const place = await serving({stateDirectory: scratch()});
	const {client: driver} = await join(place);
	await driver.sh('job', COUNT, {...OPEN_STDIN, spill: {}});
	const observers = await attached(place, 3);
	const [slow] = observers;
	slow!.socket.pause();
	await write(driver);
	expect((await driver.done('job')).stdout).toBe(`begun\n${NUMBERS}`);
	slow!.socket.resume();
	const [late] = await attached(place, 1);
	for (const {client} of [...observers, late!]) {
		expect((await client.done('job')).stdout).toBe(`begun\n${NUMBERS}`);
		expect(missedBytes(client)).toBe(0);
	}
});

test('without output on disk a client that stops reading is told what it missed, and the others miss nothing', async () => {
	const place = await serving();
	const {client: driver} = await join(place);
	// More than the sockets and the log hold together.
	const bytes = 64 * 1024 * 1024;
	await driver.sh('job', `read line; head -c ${bytes} /dev/zero`, OPEN_STDIN);
	const [stalled] = await attached(place, 1);
	stalled!.socket.pause();
	await write(driver);
	expect((await driver.done('job')).stdout.length).toBe(bytes);
	stalled!.socket.resume();
	const {stdout, exitCode} = await stalled!.client.done('job');
	expect({total: stdout.length + missedBytes(stalled!.client), exitCode}).toEqual({total: bytes, exitCode: 0});
	expect(missedBytes(stalled!.client)).toBeGreaterThan(0);
});

test('clients that know a process by different ids get it under their own', async () => {
	const place = await serving();
	const {client: driver} = await join(place);
	await driver.sh('job', 'read line; echo text', {...OPEN_STDIN, name: 'shared'});
	const {client: other} = await join(place);
	await other.sh('job', 'sleep 600');
	const attachment = await other.call<{processId: string}>('process/attach', {process: 'shared', role: 'observe'});
	expect(attachment.processId).toBe('job~2');
	await write(driver);
	expect((await driver.done('job')).stdout).toBe('text\n');
	expect((await other.done('job~2')).stdout).toBe('text\n');
	expect(other.about('job').filter(({method}) => method === 'process/output')).toEqual([]);
});
