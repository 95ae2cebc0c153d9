// Output of any length that is known at any offset, and differs at every one: blocks that begin with their number.
import {MIB} from './measure.mjs';

const BLOCK_BYTES = 64 * 1024;
/** Digits of the number and a line feed. */
const HEAD_BYTES = 16;
export const BLOCKS_PER_MIB = MIB / BLOCK_BYTES;
const PATTERN = 'longarm writes blocks that can be checked 0123456789\n';

/** Writes the blocks as fast as they are taken, after a line of input if it is told to wait, and exits with the code. */
const PROGRAM = `
const {readSync, writeSync} = require('node:fs');
const [blocks, exitCode, waits] = process.argv.slice(1).map(Number);
const block = Buffer.alloc(${BLOCK_BYTES}, ${JSON.stringify(PATTERN)});
if (waits) readSync(0, Buffer.alloc(1));
for (let number = 0; number < blocks; number++) {
	block.write(String(number).padStart(${HEAD_BYTES - 1}, '0') + '\\n');
	for (let at = 0; at < block.length; ) at += writeSync(1, block, at);
}
process.exit(exitCode);`;

/** The command line of a program that writes so many blocks; with `waits`, not before there is input. */
export function blockWriter(blocks, {exitCode = 0, waits = false} = {}) {
	return [process.execPath, '-e', PROGRAM, String(blocks), String(exitCode), waits ? '1' : '0'];
}

export function bytesOfBlocks(blocks) {
	return blocks * BLOCK_BYTES;
}

/** Compares what arrives with what belongs there; gaps are told. */
export class BlockChecker {
	#expected = Buffer.alloc(BLOCK_BYTES, PATTERN);
	/** Number of the block that `#expected` is at present. */
	#number = -1;
	/** Position of the next byte in the whole output. */
	offset = 0;
	receivedBytes = 0;
	chunks = 0;
	missedBytes = 0;
	gaps = 0;
	wrongChunks = 0;

	add(chunk) {
		if (!this.#isRight(chunk)) this.wrongChunks++;
		this.chunks++;
		this.receivedBytes += chunk.length;
		this.offset += chunk.length;
	}

	skip(bytes) {
		this.gaps++;
		this.missedBytes += bytes;
		this.offset += bytes;
	}

	#isRight(chunk) {
		for (let at = 0; at < chunk.length; ) {
			const inBlock = (this.offset + at) % BLOCK_BYTES;
			const length = Math.min(BLOCK_BYTES - inBlock, chunk.length - at);
			this.#turnTo(Math.floor((this.offset + at) / BLOCK_BYTES));
			if (chunk.compare(this.#expected, inBlock, inBlock + length, at, at + length) !== 0) return false;
			at += length;
		}
		return true;
	}

	#turnTo(number) {
		if (this.#number === number) return;
		this.#expected.write(`${String(number).padStart(HEAD_BYTES - 1, '0')}\n`);
		this.#number = number;
	}
}

/**
 * Checks the blocks of a process as its events come to a client. `done` settles with the exit code when the process has
 * closed, with undefined when the connection ends before; an event out of order counts as a wrong chunk.
 */
export function watchBlocks(client, processId) {
	const checker = new BlockChecker();
	let [seq, exitCode] = [0, undefined];
	const closed = new Promise(resolve => {
		client.watch(processId, (method, params) => {
			if (method === 'process/gap') {
				if (params.afterSeq !== seq) checker.wrongChunks++;
				seq = params.throughSeq;
				checker.skip(params.missedBytes);
				return;
			}
			// Told about clients that come and go, without a number.
			if (params.seq === undefined) return;
			if (params.seq !== seq + 1) checker.wrongChunks++;
			({seq} = params);
			if (method === 'process/output') checker.add(Buffer.from(params.chunk, 'base64'));
			if (method === 'process/exited') ({exitCode} = params);
			if (method === 'process/closed') resolve(exitCode);
		});
	});
	return {checker, done: Promise.race([closed, client.closed])};
}
