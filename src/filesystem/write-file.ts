import type {BytePath} from './byte-path.js';
import {openToReplace} from './open-file.js';
import {QUICK_BYTES} from './read-file.js';
import {replaceAtomically} from './replace-atomically.js';
import {asyncCalls, type FileCalls, preferredCalls} from './syscalls.js';

export interface WriteFileOptions {
	readonly followSymlinks: boolean;
	/** All or nothing: readers see the old content or the new one, whatever fails in between. */
	readonly atomic?: boolean;
}

/** Creates a file or replaces its content; the mode of an existing one stays. */
export async function writeFile(path: BytePath, content: Uint8Array, options: WriteFileOptions): Promise<void> {
	const calls = content.length <= QUICK_BYTES ? preferredCalls() : asyncCalls;
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

/** Writes everything, however little the system takes at a time; from the offset, or one after the other. */
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
