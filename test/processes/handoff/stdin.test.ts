// covers: src/processes/backends/stdin-writers.ts, src/processes/stdin-queue.ts
import {spawn} from 'node:child_process';
import {closeSync} from 'node:fs';
import {Socket} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {loadLibc} from '../../../src/processes/backends/linux/libc.js';
import {createPipeWriter} from '../../../src/processes/backends/stdin-writers.js';
import {MAX_QUEUED_STDIN_BYTES, StdinQueue} from '../../../src/processes/stdin-queue.js';
import {eventually} from '../../helpers/processes.js';

const O_CLOEXEC = 0o2000000;

interface Pipe {
	readonly read: number;
	readonly write: number;
}

function openPipe(): Pipe {
	const pair: [number, number] = [0, 0];
	loadLibc()!.pipe2(pair, O_CLOEXEC);
	return {read: pair[0], write: pair[1]};
}

function writerOf(fd: number): {socket: Socket; writer: ReturnType<typeof createPipeWriter>} {
	const socket = new Socket({fd, readable: false, writable: true});
	onTestFinished(() => void socket.destroy());
	return {socket, writer: createPipeWriter(socket)};
}

/** All bytes of a pipe, once its other end is closed. */
function readAll(fd: number): Promise<Buffer> {
	const child = spawn('cat', {stdio: [fd, 'pipe', 'ignore']});
	closeSync(fd);
	const chunks: Buffer[] = [];
	child.stdout!.on('data', (chunk: Buffer) => chunks.push(chunk));
	return new Promise(resolve => child.once('close', () => resolve(Buffer.concat(chunks))));
}

const numbered = (from: number, count: number): Buffer =>
	Buffer.concat(Array.from({length: count}, (_, index) => Buffer.from(`${from + index}\n`.padStart(16, '0'))));

test('a pipe and what its writer hands over are together what was written, however much the kernel has taken', async () => {
	for (const sizes of [[1], [10, 3], [10_000, 5, 20_000], [1, 1, 5000, 1, 9000, 1]]) {
		const pipe = openPipe();
		const {socket, writer} = writerOf(pipe.write);
		let from = 0;
		for (const size of sizes) {
			writer.write(numbered(from, size), () => {});
			from += size;
			// Lets some be written before the next.
			if (size === 5) await new Promise(resolve => setImmediate(resolve));
		}
		const {fd, unwritten, isEnding} = writer.handOver!();
		expect({fd, isEnding}).toEqual({fd: pipe.write, isEnding: false});
		const rest = Buffer.concat(unwritten);
		socket.destroy();
		const taken = await readAll(pipe.read);
		expect(Buffer.concat([taken, rest]).equals(numbered(0, from))).toBe(true);
	}
});

test('a writer that is to close its pipe says so until it has', async () => {
	const pipe = openPipe();
	const {socket, writer} = writerOf(pipe.write);
	writer.write(numbered(0, 10_000), () => {});
	writer.end();
	expect(writer.handOver!().isEnding).toBe(true);
	await readAll(pipe.read);
	await eventually(() => socket.destroyed);
	expect(writer.handOver!()).toEqual({fd: undefined, unwritten: [], isEnding: false});
});

test('a queue goes on with its ids, its bytes and the writes that wait, in order', async () => {
	const first = openPipe();
	const queue = new StdinQueue('p', writerOf(first.write).writer);
	const whole = Buffer.alloc(MAX_QUEUED_STDIN_BYTES, 'a');
	void queue.write(whole, 'one');
	const waiting = [queue.write(Buffer.from('b'), 'two'), queue.write(Buffer.from('c'), undefined)];
	expect(waiting.every(each => each instanceof Promise)).toBe(true);
	queue.end();
	const state = queue.handOver();
	const unwritten = state.unwritten.reduce((sum, {length}) => sum + length, 0);

	const second = openPipe();
	const next = new StdinQueue('p', writerOf(second.write).writer, undefined, state);
	expect(next.isEnded).toBe(true);
	expect(next.write(Buffer.from('again'), 'one')).toBeUndefined();
	const text = (await readAll(second.read)).toString();
	expect(text.length).toBe(unwritten + 2);
	expect(text.endsWith('aabc')).toBe(true);
});
