import type {Dirent} from 'node:fs';
import {opendir} from 'node:fs/promises';
import {type BytePath, toSystem} from './byte-path.js';
import type {FileCalls} from './calls.js';

/** A directory up to this size holds some thousand entries and is read in one go. */
const SMALL_DIRECTORY_BYTES = 256 * 1024;
const ENTRIES_PER_READ = 1024;

/** The entries of a directory in the order of the system; of one that has more than `most`, at least one more. */
export async function listDirectory(calls: FileCalls, path: BytePath, most: number): Promise<Dirent[]> {
	const {size} = await calls.stat(path);
	return size <= SMALL_DIRECTORY_BYTES ? calls.readdir(path) : listInPieces(path, most);
}

async function listInPieces(path: BytePath, most: number): Promise<Dirent[]> {
	const entries: Dirent[] = [];
	const directory = await opendir(toSystem(path), {bufferSize: ENTRIES_PER_READ, encoding: 'latin1'});
	for await (const entry of directory) if (entries.push(entry) > most) break;
	return entries;
}
