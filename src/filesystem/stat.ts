import type {Stats} from 'node:fs';
import type {BytePath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import type {FileCalls} from './syscalls.js';

/** stat(), or undefined if the path does not exist or is a dangling link. */
export async function statIfExists(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	return undefinedIfMissing(() => calls.stat(path));
}

/** lstat(), or undefined if the path does not exist. */
export async function lstatIfExists(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	return undefinedIfMissing(() => calls.lstat(path));
}

async function undefinedIfMissing(ask: () => Stats | Promise<Stats>): Promise<Stats | undefined> {
	try {
		return await ask();
	} catch (error) {
		if (isErrno(error, 'ENOENT')) return undefined;
		throw error;
	}
}
