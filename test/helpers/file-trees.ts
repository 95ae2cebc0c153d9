import {createHash} from 'node:crypto';
import {
	chmodSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';

/** Names that are hard to carry: no text, control characters, what a shell or a URI would take for something else. */
const ODD_NAMES = [
	Buffer.from([0x66, 0xff, 0xfe]),
	Buffer.from('a\u001b[31m\nb'),
	Buffer.from('ü %41?#'),
	Buffer.from(':x'),
];

/** Every kind of thing a tree can hold, with modes and times of its own. */
export function makeOddTree(root: string): void {
	mkdirSync(join(root, 'sub', 'empty'), {recursive: true});
	mkdirSync(join(root, 'closed'));
	writeFileSync(join(root, 'sub', 'run'), '#!/bin/sh\n');
	writeFileSync(join(root, 'nothing'), '');
	writeFileSync(join(root, 'closed', 'secret'), 'x'.repeat(100_000));
	for (const name of ODD_NAMES) writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), name);
	symlinkSync('sub/run', join(root, 'link'));
	symlinkSync('/nowhere/at all', join(root, 'dangling'));
	chmodSync(join(root, 'sub', 'run'), 0o751);
	chmodSync(join(root, 'closed', 'secret'), 0o600);
	utimesSync(join(root, 'sub', 'run'), 1_000_000, 1_234_567.125);
	chmodSync(join(root, 'closed'), 0o555);
	utimesSync(join(root, 'sub', 'empty'), 2_000_000, 2_000_000);
	utimesSync(join(root, 'sub'), 2_000_000, 2_345_678);
}

/** A tree as lines that are the same for the same names, kinds, modes, times and contents. */
export function describeTree(root: string): string[] {
	return [...describeBelow(Buffer.from(root), '')].sort();
}

function* describeBelow(directory: Buffer, prefix: string): Generator<string> {
	for (const name of readdirSync(directory, {encoding: 'buffer'})) {
		const path = Buffer.concat([directory, Buffer.from('/'), name]);
		const shown = `${prefix}${name.toString('latin1')}`;
		yield describe(path, shown);
		if (lstatSync(path).isDirectory()) yield* describeBelow(path, `${shown}/`);
	}
}

function describe(path: Buffer, name: string): string {
	const stats = lstatSync(path);
	if (stats.isSymbolicLink()) return `${name} -> ${readlinkSync(path, 'latin1')}`;
	const facts = `${name} ${(stats.mode & 0o777).toString(8)} ${Math.floor(stats.mtimeMs)}`;
	if (stats.isDirectory()) return `${facts} directory`;
	return `${facts} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
}
