import {closeSync, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** Opens an unlinked file that holds `content`, so that no other program can change it and none is left behind. */
export function openUnnamedContent(content: Uint8Array, parent = tmpdir()): number {
	const directory = mkdtempSync(join(parent, 'longarm-trial-'));
	try {
		const fd = openSync(join(directory, 'content'), 'wx+', 0o600);
		try {
			// By position: the reader shares the offset, which has to stay at the beginning.
			for (let done = 0; done < content.length; ) {
				done += writeSync(fd, content, done, content.length - done, done);
			}
		} catch (error) {
			closeSync(fd);
			throw error;
		}
		return fd;
	} finally {
		rmSync(directory, {recursive: true});
	}
}
