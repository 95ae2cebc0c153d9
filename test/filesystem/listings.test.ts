// covers: src/filesystem/raw-entries.ts, src/filesystem/walk.ts, src/server/handlers/tree-text.ts
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import * as fc from 'fast-check';
import {afterEach, beforeAll, expect, onTestFinished, test, vi} from 'vitest';
import {type BytePath, bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {readRawEntries, releaseRawEntries} from '../../src/filesystem/raw-entries.js';
import type {TreeWalkOptions} from '../../src/filesystem/walk.js';
import {TreeText} from '../../src/server/handlers/tree-text.js';
import {isKoffiInstalled, loadKoffi} from '../../src/shared/node/koffi.js';
import {isRoot, unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

const mounts = vi.hoisted(() => ({mayHang: false}));
vi.mock('../../src/shared/node/mounts.js', () => ({mayHang: () => mounts.mayHang}));

const needsKoffi = unless(isKoffiInstalled() && process.platform === 'linux' ? undefined : 'koffi is not installed');
const LIMITS: TreeWalkOptions = {
	maxDepth: 64,
	maxDirectories: 1000,
	maxEntries: 10_000,
	followDirectorySymlinks: false,
	pruneHiddenDirectories: false,
};
const STABLE = Array.from({length: 40}, (_, index) => `stable-${index}`);
const VANISHING_ROUNDS = 300;
const VANISHED = 'No such file or directory (os error 2)';

/** Makes and removes entries among the others, without end. */
const CHURN = `
const fs = require('node:fs');
const [place] = process.argv.slice(1);
process.stdout.write('ready');
const attempt = (step, ...given) => {
	try {
		fs[step](...given);
	} catch {}
};
for (let round = 0; ; round++) {
	const name = place + '/vanishing-' + (round % 7);
	attempt('mkdirSync', name);
	attempt('writeFileSync', name + '/inner', '');
	attempt('writeFileSync', place + '/file-' + (round % 5), '');
	attempt('symlinkSync', name, place + '/link-' + (round % 3));
	attempt('rmSync', name, {recursive: true, force: true});
	attempt('unlinkSync', place + '/file-' + ((round + 1) % 5));
	attempt('unlinkSync', place + '/link-' + ((round + 1) % 3));
}
`;

type Kind = 'file' | 'directory' | 'link' | 'link to a directory' | 'dangling link';

/** Any bytes but NUL and the slash; some of them share a beginning, some are as long as a name may be. */
const anyName = fc.oneof(
	fc.constantFrom('a', '.hidden', '..x', '...', 'line\nbreak', 'q"uote', 'back\\slash', 'é', 'x y%', '\xff\xfe'),
	fc.string({unit: fc.constantFrom('a', 'b', '\x01', '\xc3'), minLength: 1, maxLength: 9}),
	fc.constantFrom('a', 'b', 'é').map(each => each.repeat(255)),
	fc.integer({min: 0, max: 40}).map(each => `same-beginning-${each}`),
	fc
		.uint8Array({min: 1, minLength: 1, maxLength: 255})
		.map(bytes => Buffer.from(bytes.filter(byte => byte !== 0x2f)).toString('latin1')),
);
const name = anyName.filter(each => each !== '' && each !== '.' && each !== '..');
const kind = fc.constantFrom<Kind[]>('file', 'file', 'directory', 'link', 'link to a directory', 'dangling link');
const tree = fc.array(fc.record({name, kind, parent: fc.oneof(fc.constant(0), fc.nat())}), {maxLength: 40});

const options = fc.record({
	maxDepth: fc.constantFrom(0, 1, 64),
	maxDirectories: fc.constantFrom(1, 3, 1000),
	maxEntries: fc.constantFrom(1, 7, 10_000),
	followDirectorySymlinks: fc.boolean(),
	pruneHiddenDirectories: fc.boolean(),
});

function plant(root: string, entries: readonly {name: string; kind: Kind; parent: number}[]): BytePath {
	const directories = [join(root, 'tree')];
	fs.mkdirSync(directories[0]!);
	for (const entry of entries) {
		const path = `${directories[entry.parent % directories.length]}/${entry.name}`;
		const bytes = Buffer.from(path, 'latin1');
		if (fs.lstatSync(bytes, {throwIfNoEntry: false})) continue;
		if (entry.kind === 'file') fs.writeFileSync(bytes, '');
		else if (entry.kind === 'directory') fs.mkdirSync(bytes);
		else
			fs.symlinkSync({link: '/etc/passwd', 'link to a directory': root, 'dangling link': 'nowhere'}[entry.kind], bytes);
		if (entry.kind === 'directory' && path.length < 2000) directories.push(path);
	}
	return directories[0] as BytePath;
}

/** The entries of a directory as Node has them: names in the order of bytes, and what they are. */
function nodeEntries(path: BytePath): string[] {
	const entries = fs.readdirSync(Buffer.from(path, 'latin1'), {withFileTypes: true, encoding: 'latin1'});
	return entries.map(each => `${describeKind(each)} ${each.name}`);
}

function describeKind(entry: fs.Dirent): number {
	if (entry.isFile()) return 8;
	if (entry.isDirectory()) return 4;
	if (entry.isSymbolicLink()) return 10;
	if (entry.isFIFO()) return 1;
	if (entry.isSocket()) return 12;
	return entry.isCharacterDevice() ? 2 : 6;
}

/** The same, as the kernel told us; undefined where it is left to Node. */
function ownEntries(path: BytePath): string[] | undefined {
	const raw = readRawEntries(path);
	if (!raw) return undefined;
	const starts = Array.from({length: raw.count}, (_, index) => raw.startOf(index));
	const entries = starts.map(start => `${raw.typeAt(start)} ${raw.nameAt(start)}`);
	releaseRawEntries(raw);
	return entries;
}

async function walkText(root: BytePath, given: TreeWalkOptions): Promise<string> {
	const text = new TreeText();
	return text.finish(await files.walkTreeInto(root, given, text)).toString();
}

/** With calls that may take long everything is listed by Node. */
async function withNode<T>(ask: () => Promise<T>): Promise<T> {
	mounts.mayHang = true;
	try {
		return await ask();
	} finally {
		mounts.mayHang = false;
	}
}

/** As a server does when it starts: nothing loads it for a listing alone. */
beforeAll(() => {
	if (isKoffiInstalled()) loadKoffi();
});

afterEach(() => void vi.restoreAllMocks());

test('a directory has the names and kinds that Node lists, in its order', needsKoffi, () => {
	fc.assert(
		fc.property(tree, entries => {
			const root = plant(scratchDirectory(), entries);
			expect(ownEntries(root)).toEqual(nodeEntries(root));
		}),
		{numRuns: 150},
	);
});

test('a walk finds with the C library what it finds with Node, and its text is the JSON of that', async () => {
	await fc.assert(
		fc.asyncProperty(tree, options, async (entries, given) => {
			const root = plant(scratchDirectory(), entries);
			const outcome = await withNode(() => files.walk(root, given));
			expect(await files.walk(root, given)).toEqual(outcome);
			expect(await walkText(root, given)).toBe(JSON.stringify(outcome));
			expect(await withNode(() => walkText(root, given))).toBe(JSON.stringify(outcome));
		}),
		{numRuns: 150},
	);
});

test('FIFOs, sockets and devices are told apart as Node does', needsKoffi, async () => {
	const root = join(scratchDirectory(), 'tree');
	fs.mkdirSync(root);
	execFileSync('mkfifo', [join(root, 'fifo')]);
	if (isRoot) {
		execFileSync('mknod', [join(root, 'character'), 'c', '1', '3']);
		execFileSync('mknod', [join(root, 'block'), 'b', '7', '0']);
	}
	const server = createServer();
	onTestFinished(() => new Promise<void>(resolve => server.close(() => resolve())));
	await new Promise<void>(resolve => server.listen(join(root, 'socket'), resolve));
	fs.writeFileSync(join(root, 'file'), '');

	const entries = ownEntries(bytePath(root));
	expect(entries).toEqual(nodeEntries(bytePath(root)));
	expect(entries).toEqual(expect.arrayContaining(['1 fifo', '12 socket', '8 file']));
	expect((await files.walk(bytePath(root), LIMITS)).entries.map(({path}) => path)).toEqual([`file://${root}/file`]);
});

test('the text of a walk is the JSON of what it finds, however long it is', async () => {
	const root = join(scratchDirectory(), 'tree');
	for (const directory of ['a', 'b', 'b/c']) {
		fs.mkdirSync(join(root, directory), {recursive: true});
		for (let index = 0; index < 300; index++) fs.writeFileSync(join(root, directory, `${index}-${'x'.repeat(80)}`), '');
	}
	const outcome = await withNode(() => files.walk(bytePath(root), LIMITS));
	expect(outcome.entries).toHaveLength(903);
	expect(await walkText(bytePath(root), LIMITS)).toBe(JSON.stringify(outcome));
});

test('a directory with more entries than are read at once is left to Node', needsKoffi, async () => {
	const root = join(scratchDirectory(), 'tree');
	fs.mkdirSync(root);
	const names = Array.from({length: 3000}, (_, index) => `entry-${String(index).padStart(6, '0')}`);
	for (const each of names) fs.writeFileSync(join(root, each), '');
	expect(ownEntries(bytePath(root))).toBeUndefined();
	const {entries, truncated} = await files.walk(bytePath(root), LIMITS);
	expect({entries: entries.map(({path}) => path.split('/').at(-1)), truncated}).toEqual({
		entries: names,
		truncated: false,
	});
});

test('the kind of an entry that the file system does not tell is left to Node', needsKoffi, () => {
	const root = join(scratchDirectory(), 'tree');
	fs.mkdirSync(root);
	fs.writeFileSync(join(root, 'file'), '');
	const raw = readRawEntries(bytePath(root))!;
	const bytes = Buffer.from(raw.bytes);
	releaseRawEntries(raw);
	let isRead = false;
	const unknown = (_fd: number, target: Uint8Array) => {
		if (isRead) return 0;
		isRead = true;
		const length = bytes.readUInt16LE(16);
		const entry = Buffer.from(bytes.subarray(0, length));
		entry[18] = 0;
		entry.write('odd\0', 19);
		target.set(entry);
		return length;
	};
	expect(raw.read(-1, unknown)).toBe(false);
	releaseRawEntries(raw);
});

test('a directory that is swapped for a link to the server itself before it is opened is not listed', async () => {
	const root = scratchDirectory();
	const sub = join(root, 'tree/sub');
	fs.mkdirSync(sub, {recursive: true});
	const open = fs.openSync;
	vi.spyOn(fs, 'openSync').mockImplementation((path, ...rest) => {
		if (path === sub && fs.lstatSync(sub).isDirectory()) {
			fs.rmdirSync(sub);
			fs.symlinkSync('/proc/self', sub);
		}
		return open(path, ...rest);
	});
	const {entries, errors} = await files.walk(bytePath(join(root, 'tree')), LIMITS);
	expect(entries).toEqual([{path: `file://${sub}`, kind: 'directory'}]);
	expect(errors.map(({path}) => path)).toEqual([`file://${sub}`]);
	expect(errors[0]!.message).toContain('the server itself');
});

test('entries that come and go meanwhile leave the others as they are', async () => {
	const root = join(scratchDirectory(), 'tree');
	fs.mkdirSync(root);
	for (const each of STABLE) fs.writeFileSync(join(root, each), '');
	const churn = spawn(process.execPath, ['-e', CHURN, root]);
	onTestFinished(() => new Promise<void>(resolve => churn.once('exit', () => resolve()).kill('SIGKILL')));
	await new Promise(resolve => churn.stdout.once('data', resolve));
	for (let round = 0; round < VANISHING_ROUNDS; round++) {
		const {entries, errors} = await files.walk(bytePath(root), {...LIMITS, followDirectorySymlinks: round % 2 === 0});
		const paths = entries.map(({path}) => path.slice(`file://${root}/`.length));
		expect(paths.filter(path => path.startsWith('stable'))).toEqual([...STABLE].sort());
		expect(errors.filter(({message}) => message !== VANISHED)).toEqual([]);
		const listed = await files.readDirectory(bytePath(root));
		expect(listed.filter(({fileName}) => fileName.startsWith('stable'))).toHaveLength(STABLE.length);
	}
});
