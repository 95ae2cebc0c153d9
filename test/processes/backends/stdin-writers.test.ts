import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import type {Socket} from 'node:net';
import * as fc from 'fast-check';
import {expect, onTestFinished, test, vi} from 'vitest';
import type {StdinWriter} from '../../../src/processes/backends/backend.js';
import {createPipeWriter} from '../../../src/processes/backends/stdin-writers.js';
import {eventually} from '../../helpers/processes.js';

interface Started {
	readonly child: ChildProcess;
	readonly writer: StdinWriter;
	readonly stdin: Socket;
	/** All of its output, once it has ended. */
	readonly output: Promise<Buffer>;
}

function start(command: string): Started {
	const child = spawn('sh', ['-c', command], {stdio: ['pipe', 'pipe', 'ignore']});
	onTestFinished(() => void child.kill('SIGKILL'));
	const chunks: Buffer[] = [];
	child.stdout.on('data', chunk => chunks.push(chunk as Buffer));
	const output = once(child.stdout, 'end').then(() => Buffer.concat(chunks));
	const stdin = child.stdin as Socket;
	return {child, stdin, writer: createPipeWriter(stdin), output};
}

/** Numbered, so that no chunk can be taken for another. */
function toChunks(sizes: readonly number[]): Buffer[] {
	return sizes.map((size, index) => Buffer.alloc(size, `${index},`));
}

const size = fc.oneof(fc.nat({max: 20}), fc.constantFrom(0, 4095, 4096, 4097, 70_000, 300_000));

test('input of all sizes arrives in order and to its last byte, the end of input behind it', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(size, {minLength: 1, maxLength: 30}), async sizes => {
			const {writer, output} = start('exec cat');
			const chunks = toChunks(sizes);
			const done: number[] = [];
			for (const [index, chunk] of chunks.entries()) writer.write(chunk, () => done.push(index));
			writer.end();
			expect((await output).equals(Buffer.concat(chunks))).toBe(true);
			expect(done).toEqual(chunks.map((_, index) => index));
		}),
		{numRuns: 15},
	);
});

test('a short chunk is with the kernel when the call returns, and past the stream', () => {
	const {writer, stdin} = start('exec cat');
	const streamed = vi.spyOn(stdin, 'write');
	const done = vi.fn<() => void>();
	writer.write(Buffer.from('k\n'), done);
	expect(done).toHaveBeenCalledOnce();
	expect(streamed).not.toHaveBeenCalled();
	expect(writer.handOver!().unwritten).toEqual([]);
});

test('short chunks wait in front of a program that does not read, behind what waits already, and all arrive', async () => {
	const {child, writer, output} = start('exec cat');
	child.kill('SIGSTOP');
	const chunks = toChunks([...Array.from({length: 300}, () => 1500), 100_000, ...Array.from({length: 50}, () => 3)]);
	const done: number[] = [];
	for (const [index, chunk] of chunks.entries()) writer.write(chunk, () => done.push(index));
	expect(done.length).toBeGreaterThan(0);
	expect(done.length).toBeLessThan(300);
	const {unwritten} = writer.handOver!();
	// Nothing but whole chunks was taken, so that the rest is what a program would need to go on with.
	expect(Buffer.concat([...chunks].slice(done.length)).equals(Buffer.concat(unwritten))).toBe(true);
	child.kill('SIGCONT');
	writer.end();
	expect((await output).equals(Buffer.concat(chunks))).toBe(true);
	expect(done).toEqual(chunks.map((_, index) => index));
});

test('input for a reader that is gone vanishes, without an error and without an answer that never comes', async () => {
	const {child, writer, stdin} = start('exec true');
	await once(child, 'exit');
	const answers = Promise.all(
		['one', 'two'].map(text => new Promise<void>(resolve => writer.write(Buffer.from(text), resolve))),
	);
	await answers;
	await eventually(() => stdin.destroyed);
	const done = vi.fn<() => void>();
	writer.write(Buffer.from('three'), done);
	expect(done).toHaveBeenCalledOnce();
});
