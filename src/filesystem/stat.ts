import type {Stats} from 'node:fs';
import type {BytePath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import type {FileCalls} from './syscalls.js';

/** What a path leads to; undefined when that is nothing. */
export async function statIfExists(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	return unlessMissing(() => calls.stat(path));
}

/** What a path itself names; undefined when that is nothing. */
export async function lstatIfExists(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	return unlessMissing(() => calls.lstat(path));
}

async function unlessMissing(ask: () => Stats | Promise<Stats>): Promise<Stats | undefined> {
	try {
		return await ask();
	} catch (error) {
		if (isErrno(error, 'ENOENT')) return undefined;
		throw error;
	}
}
