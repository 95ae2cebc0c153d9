import {chmodSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {findTrustedProgram, type ReadOwner} from '../../src/sandbox/trusted-program.js';
import {scratchDirectory} from '../helpers/scratch.js';

const OF_ROOT = {uid: 0, mode: 0o100755};

function program(name = 'bwrap'): string {
	const file = join(realpathSync(scratchDirectory()), name);
	writeFileSync(file, '#!/bin/sh\n');
	chmodSync(file, 0o755);
	return file;
}

/** Everything belongs to root but this path. */
const besides =
	(path: string, owner: ReturnType<ReadOwner>): ReadOwner =>
	each =>
		each === path ? owner : OF_ROOT;

test('a program that only root can change is found, by its path without links', () => {
	const file = program();
	const link = join(dirname(file), 'link');
	symlinkSync(file, link);
	expect(findTrustedProgram(['/no/such', link], () => OF_ROOT)).toEqual({file});
	expect(findTrustedProgram(['/no/such'])).toEqual({why: '`/no/such` was not found'});
});

test.each([
	['belongs to another user', {uid: 1000, mode: 0o100755}],
	['may be written to by its group', {uid: 0, mode: 0o100775}],
	['may be written to by all', {uid: 0, mode: 0o100757}],
])('a program is not used if it or a directory above it %s', (_name, owner) => {
	const file = program();
	for (const path of [file, dirname(file), dirname(dirname(file)), '/']) {
		const why = `\`${file}\` is not used: others than root may change \`${path}\``;
		expect(findTrustedProgram([file], besides(path, owner))).toEqual({why});
	}
	const other = program();
	expect(findTrustedProgram([file, other], besides(file, owner))).toEqual({file: other});
});

test('a directory in which each user may change only what is his own keeps a program of root', () => {
	const file = program();
	const sticky = {uid: 0, mode: 0o041777};
	expect(findTrustedProgram([file], besides(dirname(file), sticky))).toEqual({file});
	expect(findTrustedProgram([file], besides(dirname(file), {...sticky, uid: 1000}))).toHaveProperty('why');
});
