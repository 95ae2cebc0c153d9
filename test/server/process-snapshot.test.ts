import {expect, test} from 'vitest';
import {MAX_HEAD_BYTES} from '../../src/processes/output/eviction-record.js';
import {countedFile} from '../helpers/files.js';
import {OPEN_STDIN, type Snapshot, served, snapshotOf, TERMINAL} from '../helpers/process-api.js';
import type {TestClient} from '../helpers/test-client.js';

const EMPTY = Buffer.alloc(0);
const NOTHING = {stdout: 0, stderr: 0, terminal: 0};

/** What head, gap and tail of a snapshot make of the whole. */
function shown(whole: Buffer, {headBytes, omittedBytes}: Snapshot, stream: 'stdout' | 'stderr'): Buffer {
	const [head, omitted] = [headBytes[stream], omittedBytes[stream]];
	return Buffer.concat([whole.subarray(0, head), whole.subarray(head + omitted)]);
}

async function ended(client: TestClient, processId: string): Promise<Snapshot> {
	await client.event(processId, 'process/closed');
	return snapshotOf(client, processId);
}

test('a snapshot keeps stdout and stderr apart and tells of the end', async () => {
	const {client} = await served();
	await client.sh('p', 'echo out; echo error >&2; echo more; exit 2');
	expect(await ended(client, 'p')).toEqual({
		stdout: Buffer.from('out\nmore\n'),
		stderr: Buffer.from('error\n'),
		terminal: EMPTY,
		truncated: false,
		exitCode: 2,
		running: false,
		reason: 'exit',
		totalBytes: {stdout: 9, stderr: 6, terminal: 0},
		headBytes: NOTHING,
		omittedBytes: NOTHING,
	});
});

test('a snapshot of a process that runs has what it said so far', async () => {
	const {client} = await served();
	await client.sh('p', 'echo so far; read line; echo "$line"', OPEN_STDIN);
	await client.shows('p', 'so far');
	const before: Snapshot = {
		stdout: Buffer.from('so far\n'),
		stderr: EMPTY,
		terminal: EMPTY,
		truncated: false,
		exitCode: null,
		running: true,
		reason: null,
		totalBytes: {stdout: 7, stderr: 0, terminal: 0},
		headBytes: NOTHING,
		omittedBytes: NOTHING,
	};
	expect(await snapshotOf(client, 'p')).toEqual(before);
	await client.write('p', 'later\n', 'w');
	expect(await ended(client, 'p')).toEqual({
		...before,
		stdout: Buffer.from('so far\nlater\n'),
		exitCode: 0,
		running: false,
		reason: 'exit',
		totalBytes: {stdout: 13, stderr: 0, terminal: 0},
	});
});

test('a terminal is one stream, and its name is terminal', async () => {
	const {client} = await served();
	await client.sh('p', 'echo out; echo error >&2', TERMINAL);
	expect(await ended(client, 'p')).toEqual({
		stdout: EMPTY,
		stderr: EMPTY,
		terminal: Buffer.from('out\r\nerror\r\n'),
		truncated: false,
		exitCode: 0,
		running: false,
		reason: 'exit',
		totalBytes: {stdout: 0, stderr: 0, terminal: 12},
		headBytes: NOTHING,
		omittedBytes: NOTHING,
	});
});

test('of a long output head and tail of each stream are kept, and how much is missing between them', async () => {
	const {client} = await served({retainBytes: 100_000});
	const [out, error] = [countedFile(1_000_000, 0), countedFile(400_000, 1_000_000)];
	await client.start('p', ['/bin/sh', '-c', 'cat "$1"; cat "$2" >&2; exit 1', 'sh', out.path, error.path]);
	const snapshot = await ended(client, 'p');
	expect(snapshot).toEqual({
		stdout: shown(out.content, snapshot, 'stdout'),
		stderr: shown(error.content, snapshot, 'stderr'),
		terminal: EMPTY,
		truncated: true,
		exitCode: 1,
		running: false,
		reason: 'exit',
		totalBytes: {stdout: 1_000_000, stderr: 400_000, terminal: 0},
		headBytes: {stdout: MAX_HEAD_BYTES, stderr: MAX_HEAD_BYTES, terminal: 0},
		omittedBytes: {
			stdout: 1_000_000 - snapshot.stdout.length,
			stderr: 400_000 - snapshot.stderr.length,
			terminal: 0,
		},
	});
	const kept = snapshot.stdout.length + snapshot.stderr.length;
	expect(kept).toBeLessThanOrEqual(100_000 + 2 * MAX_HEAD_BYTES);
	expect(snapshot.stderr.length).toBeGreaterThan(MAX_HEAD_BYTES);
	expect(client.output('p', 'stdout').equals(out.content)).toBe(true);
});

test('output that fits into head and tail together is whole: nothing is missing and nothing is there twice', async () => {
	const {client} = await served({retainBytes: 100_000});
	// One chunk too much: the first goes from the tail to the head, which has room for the largest.
	const {path, content} = countedFile(100_004, 0);
	await client.start('p', ['/bin/cat', path]);
	const {stdout, truncated, totalBytes, headBytes, omittedBytes} = await ended(client, 'p');
	expect(stdout.equals(content)).toBe(true);
	expect({truncated, totalBytes, omittedBytes}).toEqual({
		truncated: false,
		totalBytes: {...NOTHING, stdout: content.length},
		omittedBytes: NOTHING,
	});
	expect(headBytes.stdout).toBeGreaterThan(0);
	expect(headBytes.stdout).toBeLessThanOrEqual(MAX_HEAD_BYTES);
});
