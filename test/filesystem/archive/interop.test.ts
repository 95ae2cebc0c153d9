import {spawnSync} from 'node:child_process';
import {
	chmodSync,
	linkSync,
	mkdirSync,
	readFileSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {bytePath, joinPath, toFsPath} from '../../../src/filesystem/byte-path.js';
import {unless} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {packed, pictureOf, unpacked} from './trees.js';

function needsGnuTar() {
	const isGnu = spawnSync('tar', ['--version']).stdout?.includes('GNU tar') ?? false;
	return unless(isGnu ? undefined : 'GNU tar is not installed');
}

function tar(args: readonly string[], input?: Buffer): {readonly stdout: Buffer; readonly stderr: string} {
	const {status, stdout, stderr} = spawnSync('tar', args, {input, maxBuffer: 64 * 1024 * 1024});
	expect(stderr.toString().replaceAll(/^tar: Ignoring unknown extended header keyword 'LONGARM.*\n/gm, '')).toBe('');
	expect(status).toBe(0);
	return {stdout, stderr: stderr.toString()};
}

const LONG = 'long-'.repeat(40);

/** One of everything that both kinds of archive keep. */
function exampleTree(): string {
	const root = join(scratchDirectory(), 'tree');
	mkdirSync(join(root, 'sub', LONG, LONG), {recursive: true});
	mkdirSync(join(root, 'empty'));
	writeFileSync(join(root, 'sub', LONG, LONG, LONG), 'deep');
	writeFileSync(join(root, 'plain'), 'content');
	writeFileSync(join(root, 'größe'), 'x'.repeat(300_000));
	chmodSync(join(root, 'plain'), 0o640);
	linkSync(join(root, 'plain'), join(root, 'second'));
	symlinkSync(`${LONG}/${LONG}`, join(root, 'link'));
	symlinkSync('größe', join(root, 'other-link'));
	utimesSync(join(root, 'plain'), 0, 1_234_567_890.123);
	chmodSync(join(root, 'empty'), 0o500);
	return root;
}

test('GNU tar lists and unpacks what we pack', needsGnuTar(), async () => {
	const root = exampleTree();
	const {archive} = await packed(root);
	const listing = tar(['--full-time', '-tvf', '-'], archive).stdout.toString();
	expect(listing).toContain(' second link to plain\n');
	expect(listing).toMatch(/^-rw-r----- 0\/0 +7 2009-02-13 23:31:30.* plain$/m);
	const to = join(scratchDirectory(), 'to');
	mkdirSync(to);
	tar(['-C', to, '-xpf', '-'], archive);
	expect([...pictureOf(to)]).toEqual([...pictureOf(root)]);
});

test('GNU tar unpacks names that are no text under a readable name', needsGnuTar(), async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	writeFileSync(toFsPath(joinPath(bytePath(from), '\xffname')), 'content');
	const {archive} = await packed(from);
	tar(['-C', to, '-xf', '-'], archive);
	expect(readFileSync(join(to, '\uFFFDname'), 'utf8')).toBe('content');
});

test.each(['gnu', 'pax', 'ustar'])(
	'an archive of GNU tar in the %s format is unpacked',
	needsGnuTar(),
	async format => {
		const root = exampleTree();
		// The oldest format has no room for such names.
		const except = format === 'ustar' ? ['--exclude=./sub', '--exclude=./link'] : [];
		const {stdout} = tar(['-C', root, `--format=${format}`, ...except, '-cf', '-', '.']);
		const to = join(scratchDirectory(), 'to');
		const {errors} = await unpacked(stdout, to);
		expect(errors).toEqual([]);
		const [arrived, sent] = [pictureOf(to), pictureOf(root)];
		if (format !== 'pax') for (const entry of [...arrived.values(), ...sent.values()]) delete entry['mtimeMs'];
		const kept = [...sent].filter(([name]) => format !== 'ustar' || !/^(?:sub|link)/.test(name));
		expect([...arrived]).toEqual(kept);
	},
);

test('names that are no text come through the GNU format as they are', needsGnuTar(), async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	writeFileSync(toFsPath(joinPath(bytePath(from), '\xffname')), 'content');
	const gnu = tar(['-C', from, '--format=gnu', '-cf', '-', '.']).stdout;
	expect((await unpacked(gnu, to)).errors).toEqual([]);
	expect(pictureOf(to).has('\xffname')).toBe(true);
	const pax = tar(['-C', from, '--format=pax', '-cf', '-', '.']).stdout;
	const {errors} = await unpacked(pax, scratchDirectory());
	expect(errors.map(({message}) => message)).toEqual(['the name is not UTF-8 and was changed']);
});

test('a sparse file of GNU tar is skipped and named, not unpacked as garbage', needsGnuTar(), async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	writeFileSync(join(from, 'sparse'), 'x');
	truncateSync(join(from, 'sparse'), 4 * 1024 * 1024);
	writeFileSync(join(from, 'zz-after'), 'content');
	const {stdout} = tar(['-C', from, '--format=pax', '--sparse', '-cf', '-', 'sparse', 'zz-after']);
	const {errors} = await unpacked(stdout, to);
	expect(errors.map(({message}) => message)).toEqual(['sparse files of GNU tar are not unpacked']);
	expect([...pictureOf(to).keys()]).toEqual(['', 'zz-after']);
});
