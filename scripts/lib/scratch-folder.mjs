import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** Removing is tried again while something is still mounted or written in a folder. */
const MAX_RETRIES = 5;

const folders = new Set();

/** A new folder, in the temporary directory unless `below` names another one; it is removed when this program exits. */
export function scratchFolder(name, {below = tmpdir()} = {}) {
	if (folders.size === 0) process.on('exit', removeAll);
	mkdirSync(below, {recursive: true});
	const folder = mkdtempSync(join(below, `longarm-${name}-`));
	folders.add(folder);
	return folder;
}

function removeAll() {
	for (const folder of folders) rmSync(folder, {recursive: true, force: true, maxRetries: MAX_RETRIES});
}
