import {write} from 'node:fs';
import {setTimeout as delay} from 'node:timers/promises';
import {EXIT} from '../exit-codes.js';

const STDOUT = 1;
/** Pause before the next write to a full standard output that was made non-blocking. */
const FULL_PAUSE_MS = 5;

/** The reader of our standard output has left. */
export class BrokenPipeError extends Error {
	override readonly name = 'BrokenPipeError';
}

/** Settles when all of it is taken: by a thread that waits, so that the connection lives on behind a slow reader. */
export async function writeOut(data: Uint8Array | string): Promise<void> {
	const bytes = typeof data === 'string' ? Buffer.from(data) : data;
	for (let from = 0; from < bytes.length; ) from += await writeSome(bytes.subarray(from));
}

/** Runs work that writes to standard output; the exit code tells when its reader has left. */
export async function runUntilBrokenPipe(work: () => Promise<number>): Promise<number> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof BrokenPipeError) return EXIT.brokenPipe;
		throw error;
	}
}

async function writeSome(bytes: Uint8Array): Promise<number> {
	try {
		return await new Promise((resolve, reject) => {
			write(STDOUT, bytes, (error, length) => (error ? reject(error) : resolve(length)));
		});
	} catch (error) {
		const {code} = error as NodeJS.ErrnoException;
		if (code === 'EPIPE') throw new BrokenPipeError();
		if (code !== 'EAGAIN') throw error;
		await delay(FULL_PAUSE_MS);
		return 0;
	}
}
