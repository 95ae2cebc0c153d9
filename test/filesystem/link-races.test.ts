import {type ChildProcess, spawn} from 'node:child_process';
import fs from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {removeEntry} from '../../src/filesystem/remove.js';
import {type FileCalls, syncCalls} from '../../src/filesystem/syscalls.js';
import {Yielder} from '../../src/shared/node/yielder.js';
import {scratchDirectory} from '../helpers/scratch.js';

const ROUNDS = 1500;
const NO_LINKS = {followSymlinks: false};

/** Puts a directory and a link to `outside` in the place of each other, without end. */
const SWAPPER = `
const fs = require('node:fs');
const [place, outside] = process.argv.slice(1);
process.stdout.write('ready');
const attempt = (step, ...paths) => {
	try {
		fs[step](...paths);
	} catch {}
};
for (;;) {
	attempt('renameSync', place, place + '.kept');
	attempt('symlinkSync', outside, place);
	attempt('unlinkSync', place);
	attempt('renameSync', place + '.kept', place);
}
`;

interface Arena {
	readonly place: string;
	readonly outside: string;
}

async function swapping(): Promise<Arena> {
	const root = scratchDirectory();
	const [place, outside] = [join(root, 'place'), join(root, 'outside')];
	for (const directory of [place, outside]) fs.mkdirSync(directory, {recursive: true});
	fs.writeFileSync(join(place, 'file'), 'inside');
	fs.writeFileSync(join(outside, 'file'), 'secret');
	const swapper: ChildProcess = spawn(process.execPath, ['-e', SWAPPER, place, outside]);
	onTestFinished(() => new Promise<void>(resolve => swapper.once('exit', () => resolve()).kill('SIGKILL')));
	await new Promise(resolve => swapper.stdout!.once('data', resolve));
	return {place, outside};
}

/** Runs it many times, and until it has succeeded: a swapper that does not get the processor may leave the link there. */
async function repeatUntilDone(operation: () => Promise<unknown>): Promise<void> {
	for (let round = 0, successes = 0; round < ROUNDS || successes === 0; round++) {
		try {
			await operation();
			successes++;
		} catch {}
		if (round >= ROUNDS) await new Promise(resolve => setImmediate(resolve));
	}
}

test('reading without links never reads what a swapped link leads to', async () => {
	const {place} = await swapping();
	const seen = new Set<string>();
	await repeatUntilDone(async () => {
		seen.add(Buffer.from(await files.readFile(bytePath(join(place, 'file')), NO_LINKS)).toString());
	});
	expect([...seen]).toEqual(['inside']);
});

test.each([false, true])('writing without links never writes through a swapped link (atomic: %s)', async atomic => {
	const {place, outside} = await swapping();
	const content = Buffer.from('written');
	await repeatUntilDone(() => files.writeFile(bytePath(join(place, 'file')), content, {...NO_LINKS, atomic}));
	expect(fs.readdirSync(outside)).toEqual(['file']);
	expect(fs.readFileSync(join(outside, 'file'), 'utf8')).toBe('secret');
});

test('creating and removing without links never reaches through a swapped link', async () => {
	const {place, outside} = await swapping();
	await repeatUntilDone(async () => {
		await files.createDirectory(bytePath(join(place, 'made/deep')), {recursive: true, ...NO_LINKS});
		await files.remove(bytePath(join(place, 'made/deep')), {recursive: false, force: true, ...NO_LINKS});
	});
	expect(fs.readdirSync(outside)).toEqual(['file']);
});

test.each(['lstat', 'open', 'stat', 'readdir'] as const)(
	'removing a tree never removes what a directory is swapped for before or after its %s',
	async step => {
		for (const when of ['before', 'after'] as const) {
			const root = scratchDirectory();
			const [tree, outside] = [join(root, 'tree'), join(root, 'outside')];
			for (const directory of [join(tree, 'sub/deep'), outside]) fs.mkdirSync(directory, {recursive: true});
			fs.writeFileSync(join(outside, 'file'), 'secret');
			const swap = () => {
				if (!fs.lstatSync(join(tree, 'sub'), {throwIfNoEntry: false})?.isDirectory()) return;
				fs.renameSync(join(tree, 'sub'), join(root, 'away'));
				fs.symlinkSync(outside, join(tree, 'sub'));
			};
			const calls = swappingAt(step, when, swap);
			await removeEntry(calls, bytePath(tree), new Yielder()).catch(() => {});
			expect(fs.readFileSync(join(outside, 'file'), 'utf8')).toBe('secret');
		}
	},
);

/** The calls of the system, with something done around every one of a kind that is about `sub`. */
function swappingAt(
	step: 'lstat' | 'open' | 'stat' | 'readdir',
	when: 'before' | 'after',
	swap: () => void,
): FileCalls {
	const call = syncCalls[step] as (...parameters: unknown[]) => unknown;
	return {
		...syncCalls,
		[step]: (...parameters: unknown[]) => {
			const isMoment = String(parameters[0]).endsWith('/sub');
			if (isMoment && when === 'before') swap();
			const result = call(...parameters);
			if (isMoment && when === 'after') swap();
			return result;
		},
	};
}
