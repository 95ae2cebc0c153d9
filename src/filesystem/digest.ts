import {createHash} from 'node:crypto';
import {payloadBuffers} from '../shared/node/buffer-pool.js';
import type {LinkOptions} from './below-root.js';
import type {BytePath} from './byte-path.js';
import {refusedError} from './file-errors.js';
import {openToRead} from './open-file.js';
import {asyncCalls, preferredCalls} from './syscalls.js';

/** Bytes of one request: it is answered within seconds, and one that was abandoned ends soon. */
export const MAX_DIGEST_BYTES = 1024 * 1024 * 1024;

/** Place in a file that a read can name; there is nothing beyond it. */
const MAX_POSITION = Number.MAX_SAFE_INTEGER;

export interface Digest {
	/** In hexadecimal. */
	readonly sha256: string;
	/** Number of bytes hashed; less than requested at the end of the file. */
	readonly length: number;
}

export interface HashOptions extends LinkOptions {
	readonly offset: number;
	readonly length: number;
}

/** Checksum of a range of a regular file. */
export async function hashFile(path: BytePath, {offset, length, ...links}: HashOptions): Promise<Digest> {
	if (length > MAX_DIGEST_BYTES) throw refusedError(`a digest covers at most ${MAX_DIGEST_BYTES} bytes`);
	const {fd} = await openToRead(preferredCalls(path), path, links);
	const block = payloadBuffers.take();
	try {
		const hash = createHash('sha256');
		let done = 0;
		const end = Math.min(length, MAX_POSITION - offset);
		while (done < end) {
			const got = await asyncCalls.read(fd, block.subarray(0, Math.min(block.length, end - done)), offset + done);
			if (got === 0) break;
			hash.update(block.subarray(0, got));
			done += got;
		}
		return {sha256: hash.digest('hex'), length: done};
	} finally {
		payloadBuffers.give(block);
		await preferredCalls().close(fd);
	}
}
