import type {BytePath} from './byte-path.js';
import {openToReplace} from './open-file.js';
import {MAX_SYNC_BYTES} from './read-file.js';
import {replaceAtomically} from './replace-atomically.js';
import {asyncCalls, type FileCalls, preferredCalls} from './syscalls.js';

export interface WriteFileOptions {
	readonly followSymlinks: boolean;
	/** Readers see either the old content or the new one, whatever fails. */
	readonly atomic?: boolean;
}

/** Creates a file or replaces its content; keeps the mode of an existing one. */
export async function writeContent(path: BytePath, content: Uint8Array, options: WriteFileOptions): Promise<void> {
	const calls = content.length <= MAX_SYNC_BYTES ? preferredCalls() : asyncCalls;
	if (options.atomic) {
		await replaceAtomically(path, content, options.followSymlinks);
		return;
	}
	const {fd} = await openToReplace(calls, path, options.followSymlinks);
	try {
		await writeAll(calls, fd, content, null);
	} finally {
		await calls.close(fd);
	}
}

/** Repeats short writes until everything is written, at the offset or, if that is null, at the current position. */
export async function writeAll(
	calls: FileCalls,
	fd: number,
	content: Uint8Array,
	offset: number | null,
): Promise<void> {
	for (let written = 0; written < content.length; ) {
		const rest = written === 0 ? content : content.subarray(written);
		written += await calls.write(fd, rest, offset === null ? null : offset + written);
	}
}
