import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {
	chmodSync,
	chownSync,
	existsSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {Script} from 'node:vm';
import {Worker} from 'node:worker_threads';
import {crc32} from 'node:zlib';
import {expect, test} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import type {SearchRequest} from '../../src/filesystem/search/query.js';
import {THREAD_READY} from '../../src/shared/node/thread-ready.js';
import {isRoot, needs, unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {BUILT, CACHE, type Loaded, ProgramCopy, ROOT} from './program-copy.js';

/** Behind the magic number: V8's hash of its version. */
const VERSION_OFFSET = 4;
const CHECKSUM_BYTES = 4;
/** A launcher anew for each part takes longer than other tests do. */
const ALONE_TIMEOUT_MS = 120_000;
const execute = promisify(execFile);

const {version: VERSION} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {version: string};

/** Every part gives the names that are written at its end. */
function expectAllExports(copy: ProgramCopy, loaded: ReadonlyMap<string, Loaded>): void {
	const files = readdirSync(copy.parts).filter(name => name.endsWith('.js'));
	const written = files.flatMap(file => writtenExports(copy, file)).filter(([name]) => name !== 'main.js#main.js');
	expect(written.filter(([, members]) => members.length === 0)).toEqual([]);
	expect(Object.fromEntries([...loaded].map(([name, {exports}]) => [name, exports]))).toEqual(
		Object.fromEntries(written),
	);
}

/** By name of a part, of which a file has one or several. */
function writtenExports({parts}: ProgramCopy, file: string): [name: string, members: string[]][] {
	const text = readFileSync(join(parts, file), 'latin1');
	if (text.startsWith('(function')) return [[file, membersOf(text)]];
	const [, ...pieces] = text.split(/^(?:\(\{)?"([\w.-]+)":(?=\(function \(require, module, importMetaUrl\))/m);
	return pieces.flatMap((name, index) => (index % 2 ? [] : [[`${file}#${name}`, membersOf(pieces[index + 1]!)]]));
}

function membersOf(text: string): string[] {
	const [, members] = /module\.exports=\{([^}]*)\};\s*\}\)(?:,\s*|\}\))?$/.exec(text) ?? [];
	return members?.split(',').map(member => member.split(':')[0]!) ?? [];
}

/** Over all parts; the counts of a launcher only grow. */
function most(loaded: ReadonlyMap<string, Loaded>, key: 'taken' | 'rejected'): number {
	return Math.max(...[...loaded.values()].map(each => each[key]));
}

function sealed(cache: Buffer, source: string): Buffer {
	const checksum = Buffer.alloc(CHECKSUM_BYTES);
	checksum.writeUInt32LE(crc32(source, crc32(cache)));
	return Buffer.concat([cache, checksum]);
}

function unsealed(cache: Buffer): Buffer {
	return cache.subarray(0, -CHECKSUM_BYTES);
}

/** Why the caches of the build are not for this program; undefined when they are. */
function reasonAgainstCaches(): string | undefined {
	const parts = join(BUILT, 'parts');
	if (!existsSync(parts) || readdirSync(parts).some(name => name.endsWith(CACHE))) return undefined;
	return 'the build was made by another version of Node';
}

const withCaches = unless(reasonAgainstCaches());

test('every part loads by itself, with the caches of the build', {
	timeout: ALONE_TIMEOUT_MS,
	...withCaches,
}, async () => {
	const copy = new ProgramCopy();
	const loaded = await copy.load('alone');
	expectAllExports(copy, loaded);
	expect(most(loaded, 'taken')).toBeGreaterThan(0);
	expect(most(loaded, 'rejected')).toBe(0);
});

test('every part loads by itself without a cache', {timeout: ALONE_TIMEOUT_MS}, async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	const loaded = await copy.load('alone');
	expectAllExports(copy, loaded);
	expect(most(loaded, 'taken')).toBe(0);
});

test('V8 takes every cache of the build', withCaches, async () => {
	const copy = new ProgramCopy();
	const caches = copy.cacheNames().filter(name => name !== `main.js${CACHE}`);
	expect(most(await copy.load('together'), 'taken')).toBe(caches.length);
});

const DAMAGES: Record<string, (cache: Buffer) => Buffer> = {
	'cut in half': cache => cache.subarray(0, cache.length >> 1),
	'of three bytes': cache => cache.subarray(0, 3),
	'that is empty': cache => cache.subarray(0, 0),
	'with one bit changed': cache => {
		cache[cache.length >> 1]! ^= 1;
		return cache;
	},
	'of zeros behind its header': cache => cache.fill(0, 40),
	'of other data': () => Buffer.from('this is no cache, and was none before'),
};

for (const [damage, change] of Object.entries(DAMAGES)) {
	test(`a cache ${damage} is left aside`, async () => {
		const [copy, other] = [new ProgramCopy(), new ProgramCopy()];
		for (const each of [copy, other]) each.changeCaches(change);
		expect(await other.version()).toBe(VERSION);
		const loaded = await copy.load('together');
		expectAllExports(copy, loaded);
		expect(most(loaded, 'taken')).toBe(0);
	});
}

test('a cache of another version of V8 is rejected, and the part is compiled', async () => {
	const [copy, other] = [new ProgramCopy(), new ProgramCopy()];
	for (const each of [copy, other]) {
		each.changeCaches((cache, source) => {
			const own = unsealed(cache);
			own.writeUInt32LE(own.readUInt32LE(VERSION_OFFSET) ^ 1, VERSION_OFFSET);
			return sealed(own, source);
		});
	}
	expect(await other.version()).toBe(VERSION);
	const caches = copy.cacheNames().filter(name => name !== `main.js${CACHE}`);
	const loaded = await copy.load('together');
	expectAllExports(copy, loaded);
	expect(most(loaded, 'taken')).toBe(0);
	expect(most(loaded, 'rejected')).toBe(caches.length);
});

test('a cache made under other flags of V8 is rejected, and the part is compiled', async () => {
	const copy = new ProgramCopy();
	const flag = '--no-lazy-feedback-allocation';
	expect(await copy.version(flag)).toBe(VERSION);
	const loaded = await copy.load('together', flag);
	expectAllExports(copy, loaded);
	expect(most(loaded, 'taken')).toBe(0);
	expect(most(loaded, 'rejected')).toBeGreaterThan(0);
});

test('a cache of another source of the same length does not run that source', async () => {
	const copy = new ProgramCopy();
	const filename = join(copy.parts, 'main.js');
	const before = "(function () {console.log('before')})";
	const source = before.replace('before', 'behind');
	const cache = sealed(new Script(before, {filename}).createCachedData(), before);
	writeFileSync(filename, source);
	writeFileSync(`${filename}${CACHE}`, cache);
	expect(await copy.version()).toBe('behind');
});

test('a run keeps what V8 compiled for the next one, once', async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	expect(await copy.version()).toBe(VERSION);
	const kept = copy.cacheNames();
	expect(kept).toContain(`main.js${CACHE}`);
	const inode = () => statSync(join(copy.parts, `main.js${CACHE}`)).ino;
	const first = inode();
	expect(await copy.version()).toBe(VERSION);
	expect(inode()).toBe(first);
	expect(readdirSync(copy.parts).filter(name => name.endsWith('.new'))).toEqual([]);
	expect(most(await copy.load('together'), 'taken')).toBe(kept.length - 1);
});

test('a run that ends when another version lies in its place keeps nothing that this one would take', async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	const filename = join(copy.parts, 'main.js');
	// V8 tells sources apart by their lengths only.
	const length = 2000;
	const behind = "(function () {console.log('behind')})".padEnd(length);
	const write = `require('node:fs').writeFileSync(${JSON.stringify(filename)}, ${JSON.stringify(behind.trim())}.padEnd(${length}))`;
	writeFileSync(filename, `(function (require) {${write}; console.log('before')})`.padEnd(length));
	expect(await copy.version()).toBe('before');
	expect(await copy.version()).toBe('behind');
});

test('a run with flags of Node keeps nothing: others could not take it', async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	expect(await copy.version('--no-lazy-feedback-allocation')).toBe(VERSION);
	expect(copy.cacheNames()).toEqual([]);
});

const FOREIGN: Record<string, (path: string, parts: string) => void> = {
	'that others can write': path => chmodSync(path, 0o666),
	'that a group can write': path => chmodSync(path, 0o664),
	'in a folder that others can write': (_, parts) => chmodSync(parts, 0o777),
	'behind a link': path => {
		renameSync(path, `${path}.target`);
		symlinkSync(`${path}.target`, path);
	},
	...(isRoot && {'of another user': path => chownSync(path, 65_534, 65_534)}),
};

for (const [what, change] of Object.entries(FOREIGN)) {
	test(`a cache ${what} is left aside`, withCaches, async () => {
		const copy = new ProgramCopy();
		for (const name of copy.cacheNames()) change(join(copy.parts, name), copy.parts);
		const loaded = await copy.load('together');
		expectAllExports(copy, loaded);
		expect(most(loaded, 'taken')).toBe(0);
		expect(most(loaded, 'rejected')).toBe(0);
	});
}

test('nothing is kept where it cannot be written, and in a folder of another user', async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	if (isRoot) chownSync(copy.parts, 65_534, 65_534);
	else chmodSync(copy.parts, 0o555);
	expect(await copy.version()).toBe(VERSION);
	expect(copy.cacheNames()).toEqual([]);
});

test('the published package holds no compiled code', needs('npm'), async () => {
	const {stdout} = await execute('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {cwd: ROOT});
	const [packed] = JSON.parse(stdout) as [{files: {path: string}[]}];
	const paths = packed.files.map(({path}) => path);
	expect(paths).toEqual(
		expect.arrayContaining(['dist/bin/longarm.js', 'dist/bin/keep-compiled.js', 'dist/bin/parts/main.js']),
	);
	const others = paths.filter(path => path.startsWith('dist/') && !/\.(?:js|json|d\.ts|map)$/.test(path));
	// Files of the web console are packed as they are sent.
	expect(others.filter(path => !/^dist\/console\/assets\/[\w.-]+\.gz$/.test(path))).toEqual([]);
});

test('a part that fails to load fails again when it is asked for again', async () => {
	const copy = new ProgramCopy();
	rmSync(join(copy.parts, `main.js${CACHE}`), {force: true});
	writeFileSync(join(copy.parts, 'failing.js'), "(function () {throw new Error('no luck')})");
	writeFileSync(
		join(copy.parts, 'main.js'),
		`(function (require) {
			for (const attempt of [1, 2]) try {require('./failing.js')} catch (error) {console.log(attempt + error.message)}
		})`,
	);
	expect(await copy.version()).toBe('1no luck\n2no luck');
});

test('the search worker of the build finds a line', async () => {
	const folder = scratchDirectory();
	writeFileSync(join(folder, 'notes.txt'), 'one\ntwo needles\n');
	const query: SearchRequest = {
		root: bytePath(folder),
		names: [],
		exclude: [],
		contents: {pattern: 'needle', regex: false, ignoreCase: false},
		hidden: false,
		ignoreFiles: false,
		maxMatches: 10,
	};
	const worker = new Worker(join(BUILT, 'search-worker.js'), {
		workerData: {query, unconfirmed: new Int32Array(new SharedArrayBuffer(4))},
	});
	const messages: unknown[] = [];
	await new Promise((resolve, reject) =>
		worker
			.on('message', each => messages.push(each))
			.on('error', reject)
			.on('exit', resolve),
	);
	expect(messages).toMatchObject([{kind: 'matches'}, {kind: 'done', summary: {files: 1, matches: 1}}]);
});

test('the pattern worker of the build finds a match', async () => {
	const worker = new Worker(join(BUILT, 'pattern-worker.js'));
	const [ready] = (await once(worker, 'message')) as unknown[];
	expect(ready).toBe(THREAD_READY);
	const answer = once(worker, 'message');
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	worker.postMessage({kind: 'match', pattern: 'o (w)', flags: '', bytes: Buffer.from('hello world')});
	expect(await answer).toEqual([{kind: 'match', match: {text: 'o w', groups: ['w'], index: 4, end: 7}}]);
	await worker.terminate();
});

test('the handshake worker of the build refuses a message that is not for its key', async () => {
	const worker = new Worker(join(BUILT, 'handshake-worker.js'));
	const answer = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
	const self = {dh: new Uint8Array(32).fill(1), kem: new Uint8Array(64).fill(2)};
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	worker.postMessage({kind: 'respond', self, prologue: new Uint8Array(8), message: new Uint8Array(3600)});
	expect(await answer).toEqual({kind: 'refused'});
	await worker.terminate();
});
