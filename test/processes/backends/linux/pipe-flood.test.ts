import {execFileSync} from 'node:child_process';
import {closeSync, constants, openSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {type Libc, loadLibc} from '../../../../src/processes/backends/linux/libc.js';
import {createPipeSource} from '../../../../src/processes/backends/linux/pipe-flood.js';
import {OutputReader} from '../../../../src/processes/backends/output-reader.js';
import {MAX_CHUNK_BYTES, releaseChunk} from '../../../../src/processes/output/chunk-pool.js';
import {noteRequest} from '../../../../src/shared/recent-requests.js';
import {nativeBackend, PIPES, sh, start} from '../../../helpers/children.js';
import {eventually} from '../../../helpers/processes.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {waitTicks} from '../../../helpers/ticks.js';

const KIB = 1024;
const F_GETPIPE_SZ = 1032;
/** Written at once: 1,024 numbers. */
const BLOCK_BYTES = 4 * KIB;
const libc = loadLibc() as Libc;

/** A pipe that is full of ascending numbers, again after every read, until it is told to stop. */
class NumberedPipe {
	readonly fd: number;
	readonly #write: number;
	readonly #block = new Uint32Array(BLOCK_BYTES / 4);
	#written = 0;
	#taken = 0;
	#isOpen = true;
	/** Sizes of the chunks. */
	readonly sizes: number[] = [];
	ends = 0;

	constructor() {
		const path = join(scratchDirectory(), 'fifo');
		execFileSync('mkfifo', [path]);
		this.fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		this.#write = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
		onTestFinished(() => this.stop());
		this.fill();
	}

	get capacity(): number {
		return libc.fcntl(this.fd, F_GETPIPE_SZ, 0);
	}

	get areAllTaken(): boolean {
		return this.#taken === this.#written;
	}

	/** Reads it; every number has to be the next one. */
	open(onData: () => void = () => {}): OutputReader {
		const reader = new OutputReader(
			this.fd,
			'pipe',
			{
				data: bytes => {
					this.#take(bytes);
					this.fill();
					onData();
				},
				end: () => this.ends++,
			},
			{openPipe: fd => createPipeSource(libc, fd)},
		);
		onTestFinished(() => reader.drainAndClose());
		return reader;
	}

	fill(): void {
		if (!this.#isOpen) return;
		try {
			for (;;) {
				for (let index = 0; index < this.#block.length; index++) this.#block[index] = this.#written / 4 + index;
				writeSync(this.#write, this.#block);
				this.#written += BLOCK_BYTES;
			}
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
		}
	}

	stop(): void {
		if (this.#isOpen) closeSync(this.#write);
		this.#isOpen = false;
	}

	#take(bytes: Uint8Array): void {
		this.sizes.push(bytes.length);
		const numbers = new Uint32Array(bytes.slice().buffer);
		for (let index = 0; index < numbers.length; index++) {
			if (numbers[index] !== this.#taken / 4 + index) throw new Error(`out of order at ${this.#taken}`);
		}
		this.#taken += bytes.length;
		// The memory of a chunk is used again, as a log does that evicts it.
		releaseChunk(bytes);
	}
}

/** Most bytes that were read in one tick of the event loop while `count` chunks came. */
async function mostPerTick(pipe: NumberedPipe, count: number): Promise<number> {
	const until = pipe.sizes.length + count;
	let most = 0;
	while (pipe.sizes.length < until) {
		const before = pipe.sizes.length;
		await new Promise(setImmediate);
		most = Math.max(
			most,
			pipe.sizes.slice(before).reduce((sum, size) => sum + size, 0),
		);
	}
	return most;
}

test('a pipe that stays full is made larger, and read in larger chunks, in order and to its end', async () => {
	const pipe = new NumberedPipe();
	expect(pipe.capacity).toBe(64 * KIB);
	pipe.open();
	await eventually(() => pipe.capacity === 256 * KIB && pipe.sizes.length > 50);
	expect(Math.max(...pipe.sizes)).toBe(MAX_CHUNK_BYTES);
	pipe.stop();
	await eventually(() => pipe.ends === 1);
	expect(pipe.areAllTaken).toBe(true);
});

test('a pipe that is full now and then stays as it is', async () => {
	const pipe = new NumberedPipe();
	const reader = pipe.open(() => reader.pause());
	for (let round = 1; round <= 3; round++) {
		await eventually(() => pipe.sizes.length >= round);
		reader.resume();
	}
	expect(pipe.capacity).toBe(64 * KIB);
});

test('turns at a full pipe are short while requests come', async () => {
	const pipe = new NumberedPipe();
	let isAsked = false;
	pipe.open(() => isAsked && noteRequest(performance.now()));
	await eventually(() => pipe.capacity === 256 * KIB);
	expect(await mostPerTick(pipe, 20)).toBeGreaterThanOrEqual(256 * KIB);
	isAsked = true;
	noteRequest(performance.now());
	await waitTicks();
	expect(await mostPerTick(pipe, 20)).toBeLessThanOrEqual(64 * KIB);
});

test('a full pipe rests while it is paused, however often, and goes on where it was', async () => {
	const pipe = new NumberedPipe();
	const reader = pipe.open();
	for (let round = 0; round < 5; round++) {
		const before = pipe.sizes.length;
		await eventually(() => pipe.sizes.length > before + 10);
		reader.pause();
		const {length} = pipe.sizes;
		await waitTicks();
		expect(pipe.sizes).toHaveLength(length);
		reader.resume();
		reader.pause();
		reader.resume();
	}
	pipe.stop();
	await eventually(() => pipe.ends === 1);
	expect(pipe.areAllTaken).toBe(true);
});

test.each(['reading', 'paused'])('a full pipe can be let go while it is %s, and ends once', async state => {
	const pipe = new NumberedPipe();
	const reader = pipe.open();
	await eventually(() => pipe.sizes.length > 10);
	if (state === 'paused') reader.pause();
	await waitTicks();
	reader.drainAndClose();
	const {length} = pipe.sizes;
	reader.resume();
	await eventually(() => pipe.ends > 0);
	await waitTicks();
	expect([pipe.ends, pipe.sizes.length]).toEqual([1, length]);
});

test('a bounded number of pipes is made larger, and a closed one makes room for another', () => {
	const sources = Array.from({length: 65}, () => createPipeSource(libc, new NumberedPipe().fd));
	onTestFinished(() => {
		for (const source of sources) source.close();
	});
	expect(sources.map(source => source.enlarge())).toEqual([...Array.from({length: 64}, () => true), false]);
	sources[0]!.close();
	sources[0]!.close();
	expect(sources[64]!.enlarge()).toBe(true);
	expect(createPipeSource(libc, new NumberedPipe().fd).enlarge()).toBe(false);
});

test('floods on both streams of a child come whole', async () => {
	const {finished} = await start(nativeBackend(), sh('seq 1 1000000 & seq 1 1000000 >&2; wait', PIPES));
	const expected = Array.from({length: 1_000_000}, (_, index) => `${index + 1}\n`).join('');
	const {stdout, stderr} = await finished();
	expect([stdout === expected, stderr === expected]).toEqual([true, true]);
});
