import {createHash} from 'node:crypto';
import {payloadBuffers} from '../shared/node/buffer-pool.js';
import type {BytePath} from './byte-path.js';
import {refused} from './file-errors.js';
import {openToRead} from './open-file.js';
import {asyncCalls, preferredCalls} from './syscalls.js';

/** What one request may cover: it is answered within seconds, and stops soon when nobody wants it any more. */
export const MAX_DIGEST_BYTES = 1024 * 1024 * 1024;

export interface Digest {
	/** In hexadecimal. */
	readonly sha256: string;
	/** How many bytes there were; fewer than asked for at the end of the file. */
	readonly length: number;
}

/** The checksum of a part of a regular file. */
export async function digest(path: BytePath, offset: number, length: number): Promise<Digest> {
	if (length > MAX_DIGEST_BYTES) throw refused(`a digest covers at most ${MAX_DIGEST_BYTES} bytes`);
	const {fd} = await openToRead(preferredCalls(), path, true);
	const block = payloadBuffers.take();
	try {
		const hash = createHash('sha256');
		let done = 0;
		while (done < length) {
			const got = await asyncCalls.read(fd, block.subarray(0, Math.min(block.length, length - done)), offset + done);
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
