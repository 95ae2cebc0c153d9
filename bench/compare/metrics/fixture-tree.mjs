import {closeSync, existsSync, mkdirSync, openSync, writeFileSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {MIB} from '../../lib/measure.mjs';

/** One message holds at most 64 MiB of text, so a whole file is smaller than the one that is read in blocks. */
const MAX_WHOLE_MIB = 40;
const CONTENT = 'abcdefghijklmnopqrstuvwxyz012345';
/** Folders that hold those with the files. */
const UPPER_FOLDERS = 20;
export const SMALL_BYTES = 1024;

export function wholeMebibytes(mebibytes) {
	return Math.min(mebibytes, MAX_WHOLE_MIB);
}

/** A folder with the files of these sizes, made once per scratch folder: `big`, `whole`, `small/`, `many/`, `tree/`. */
export function fixtureTree(scratch, {fsMiB, small, dirEntries, walkDirs, walkFiles}) {
	const folder = join(scratch, `fs-${fsMiB}-${small}-${dirEntries}-${walkDirs}-${walkFiles}`);
	if (existsSync(join(folder, 'done'))) return folder;
	mkdirSync(join(folder, 'small'), {recursive: true});
	mkdirSync(join(folder, 'many'), {recursive: true});
	const block = Buffer.alloc(MIB, CONTENT);
	const descriptor = openSync(join(folder, 'big'), 'w');
	for (let count = 0; count < fsMiB; count++) writeSync(descriptor, block);
	closeSync(descriptor);
	writeFileSync(join(folder, 'whole'), Buffer.alloc(wholeMebibytes(fsMiB) * MIB, CONTENT));
	for (let index = 0; index < small; index++)
		writeFileSync(join(folder, 'small', `f${index}`), block.subarray(0, SMALL_BYTES));
	for (let index = 0; index < dirEntries; index++)
		writeFileSync(join(folder, 'many', `entry-${String(index).padStart(6, '0')}.txt`), '');
	for (let index = 0; index < walkDirs; index++) {
		const lower = join(folder, 'tree', `d${index % UPPER_FOLDERS}`, `sub${index}`);
		mkdirSync(lower, {recursive: true});
		for (let file = 0; file < walkFiles; file++) writeFileSync(join(lower, `file-${file}.ts`), 'x');
	}
	writeFileSync(join(folder, 'done'), '');
	return folder;
}
