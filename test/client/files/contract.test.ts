import {randomBytes} from 'node:crypto';
import {
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {FileError} from '../../../src/client/files/file-error.js';
import type {FileFeature} from '../../../src/client/files/files.js';
import {BLOCK_BYTES} from '../../../src/client/files/streams/block-reader.js';
import {nativePathOf} from '../../../src/client/paths.js';
import {PathUri} from '../../../src/protocol/path-uri/path-uri.js';
import {uri} from '../../helpers/files.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {LOCAL_AND_REMOTE} from '../local-and-remote.js';

async function collect(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of stream) chunks.push(chunk);
	return Buffer.concat(chunks);
}

async function write(stream: WritableStream<Uint8Array>, ...chunks: Uint8Array[]): Promise<void> {
	const writer = stream.getWriter();
	for (const chunk of chunks) await writer.write(chunk);
	await writer.close();
}

const failing = (code: FileError['code'], message: string | RegExp = /./) => ({
	constructor: FileError,
	code,
	message: expect.stringMatching(message) as string,
});

describe.each(Object.entries(LOCAL_AND_REMOTE))('%s', (_name, machine) => {
	async function working() {
		const root = scratchDirectory();
		return {...(await machine()), root, at: (...names: string[]) => join(root, ...names)};
	}
	async function workingWith(feature: FileFeature, skip: (note: string) => void) {
		const it = await working();
		if (!(await it.files.supports(feature))) skip(`the server does not have ${feature}`);
		return it;
	}
	test('a file is written and read, as bytes and as text, by path, URI or PathUri', async () => {
		const {files, at} = await working();
		const bytes = randomBytes(300_000);
		await files.writeFile(at('a b'), bytes);
		expect(Buffer.from(await files.readFile(uri(at('a b')))).equals(bytes)).toBe(true);
		await files.writeFile(PathUri.fromNative(at('ü')), 'grüße');
		expect([await files.readText(at('ü')), readFileSync(at('ü'), 'utf8')]).toEqual(['grüße', 'grüße']);
		await files.writeFile(at('marked'), '\uFEFFx');
		expect(await files.readText(at('marked'))).toBe('\uFEFFx');
		await files.writeFile(at('empty'), '');
		expect((await files.readFile(at('empty'))).length).toBe(0);
	});

	test('failures have a code, the words of the executor and the path', async () => {
		const {files, at} = await working();
		const missing = files.readFile(at('no')).catch((error: unknown) => error);
		expect(await missing).toMatchObject({...failing('not-found', 'No such file'), path: at('no')});
		await expect(files.readFile(at())).rejects.toMatchObject(failing('refused', 'is not a file'));
		await expect(files.createDirectory(at('no', 'such'), {recursive: false})).rejects.toMatchObject({
			code: 'not-found',
		});
		writeFileSync(at('file'), '');
		await expect(files.readDirectory(at('file'))).rejects.toMatchObject(failing('failed', 'Not a directory'));
		await expect(files.metadata('relative')).rejects.toMatchObject({...failing('refused'), path: 'relative'});
		await expect(collect(files.readStream(at('no')))).rejects.toMatchObject(failing('not-found'));
		await expect(write(files.writeStream(at('no', 'such')), Buffer.from('x'))).rejects.toMatchObject(
			failing('not-found'),
		);
	});

	test('a failure of any method names the path in its message and as a property', async () => {
		const {files, at} = await working();
		const [path, target] = [at('no', 'such'), at('other')];
		const calls: Record<string, () => Promise<unknown>> = {
			readFile: () => files.readFile(path),
			readText: () => files.readText(path),
			writeFile: () => files.writeFile(path, 'x'),
			createDirectory: () => files.createDirectory(path, {recursive: false}),
			metadata: () => files.metadata(path),
			canonicalize: () => files.canonicalize(path),
			readDirectory: () => files.readDirectory(path),
			walk: () => files.walk(path),
			remove: () => files.remove(path, {force: false}),
			readStream: () => collect(files.readStream(path)),
			writeStream: () => write(files.writeStream(path), Buffer.from('x')),
			watch: () => files.watch(path),
			search: () => files.search({path, names: ['*']}).outcome,
			list: () => files.list(path)[Symbol.asyncIterator]().next(),
			digest: () => files.digest(path, {offset: 0, length: 1}),
			pack: () => files.pack(path),
			unpack: async () => {
				const {stream, outcome} = await files.unpack(path);
				await Promise.all([outcome, stream.getWriter().close()]);
			},
		};
		const wrong: string[] = [];
		for (const [name, call] of Object.entries(calls)) {
			const error = await call().catch((thrown: unknown) => thrown);
			const isRight = error instanceof FileError && error.path === path && error.message === `${path}: ${error.detail}`;
			if (!isRight) wrong.push(`${name}: ${String(error)}`);
		}
		expect(wrong).toEqual([]);
		const gone = at('gone');
		const pair = {path: gone, target, message: expect.stringContaining(`${gone} to ${target}: `) as string};
		await expect(files.copy(gone, target)).rejects.toMatchObject(pair);
		await expect(files.rename(gone, target)).rejects.toMatchObject(pair);
	});

	test('directories are made, listed, walked and removed', async () => {
		const {files, at} = await working();
		await files.createDirectory(at('d', 'e'));
		await files.writeFile(at('d', 'f'), 'x');
		const entries = await files.readDirectory(at('d'));
		expect(entries.toSorted((one, other) => (one.fileName < other.fileName ? -1 : 1))).toEqual([
			{fileName: 'e', isDirectory: true, isFile: false},
			{fileName: 'f', isDirectory: false, isFile: true},
		]);
		expect(await files.walk(at())).toEqual({
			entries: [
				{path: uri(at('d')), kind: 'directory'},
				{path: uri(at('d', 'e')), kind: 'directory'},
				{path: uri(at('d', 'f')), kind: 'file'},
			],
			errors: [],
			truncated: false,
		});
		expect((await files.walk(at(), {maxDepth: 0})).entries.length).toBe(1);
		await expect(files.remove(at('d'), {recursive: false})).rejects.toMatchObject(failing('failed', 'not empty'));
		await files.remove(at('d'));
		expect(existsSync(at('d'))).toBe(false);
		await files.remove(at('d'));
		await expect(files.remove(at('d'), {force: false})).rejects.toMatchObject(failing('not-found'));
	});

	test('metadata tells kinds, sizes and links, and no link is followed if that is the wish', async () => {
		const {files, at} = await working();
		writeFileSync(at('file'), 'four');
		symlinkSync('file', at('link'));
		const {size, modifiedAtMs, ...kinds} = await files.metadata(at('link'));
		expect([size, Math.floor(statSync(at('file')).mtimeMs)]).toEqual([4, modifiedAtMs]);
		expect(kinds).toMatchObject({isFile: true, isDirectory: false, isSymlink: true});
		await expect(files.metadata(at('link'), {followSymlinks: false})).rejects.toMatchObject(failing('refused', 'link'));
		expect(nativePathOf(await files.canonicalize(at('link')))).toBe(at('file'));
	});

	test('files and trees are copied within the machine', async () => {
		const {files, at} = await working();
		await files.createDirectory(at('a', 'b'));
		await files.writeFile(at('a', 'b', 'c'), 'x');
		await expect(files.copy(at('a'), at('z'))).rejects.toMatchObject(failing('refused', 'recursive'));
		await files.copy(at('a'), at('z'), {recursive: true});
		expect(readFileSync(at('z', 'b', 'c'), 'utf8')).toBe('x');
	});

	test('what is renamed replaces nothing unless that is said', async ({skip}) => {
		const {files, at} = await workingWith('rename', skip);
		await files.writeFile(at('a'), 'a');
		await files.writeFile(at('b'), 'b');
		await expect(files.rename(at('a'), at('b'))).rejects.toMatchObject(failing('failed', 'exists'));
		await files.rename(at('a'), at('b'), {overwrite: true});
		expect([readdirSync(at()), readFileSync(at('b'), 'utf8')]).toEqual([['b'], 'a']);
	});

	test('an atomic write replaces the file as a whole', async ({skip}) => {
		const {files, at} = await workingWith('atomicWrite', skip);
		writeFileSync(at('a'), 'old');
		const {ino} = statSync(at('a'));
		await files.writeFile(at('a'), 'new', {atomic: true});
		expect([readFileSync(at('a'), 'utf8'), statSync(at('a')).ino === ino]).toEqual(['new', false]);
	});

	test('what the server lacks is said so, before anything is asked of it', async ({skip}) => {
		const {files, at, isLongarm} = await working();
		if (isLongarm) skip('the server has everything');
		const error = failing('unsupported', /exec-server does not support fs/);
		await expect(files.rename(at('a'), at('b'))).rejects.toMatchObject(error);
		await expect(files.watch(at())).rejects.toMatchObject(error);
		await expect(files.pack(at())).rejects.toMatchObject(error);
		await expect(files.unpack(at())).rejects.toMatchObject(error);
		await expect(files.writeFile(at('a'), '', {atomic: true})).rejects.toMatchObject(error);
		const search = files.search({path: at()});
		await expect(search.next()).rejects.toMatchObject(error);
		await expect(search.outcome).rejects.toMatchObject(error);
	});

	test.each([0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 7 * BLOCK_BYTES + 5])(
		'a file of %i bytes is streamed in and out',
		async size => {
			const {files, at} = await working();
			const content = randomBytes(size);
			await write(files.writeStream(at('a')), content.subarray(0, 10), content.subarray(10));
			expect(readFileSync(at('a')).equals(content)).toBe(true);
			expect((await collect(files.readStream(at('a')))).equals(content)).toBe(true);
		},
	);

	test('many small pieces become one file, and their memory may be used again', async () => {
		const {files, at} = await working();
		const piece = Buffer.alloc(1000);
		const writer = files.writeStream(at('a')).getWriter();
		for (let index = 0; index < 3000; index++) await writer.write(piece.fill(index % 251));
		await writer.close();
		const expected = Buffer.concat(Array.from({length: 3000}, (_, index) => Buffer.alloc(1000, index % 251)));
		expect(readFileSync(at('a')).equals(expected)).toBe(true);
	});

	test('a stream begins where it is told to, and can be left', async () => {
		const {files, at} = await working();
		const content = randomBytes(9 * BLOCK_BYTES);
		writeFileSync(at('a'), content);
		const from = 8 * BLOCK_BYTES + 3;
		expect((await collect(files.readStream(at('a'), {offset: from}))).equals(content.subarray(from))).toBe(true);
		// More than a server keeps open: each is closed again, even if it is left before it is there.
		const blocks: number[] = [];
		for (let index = 0; index < 140; index++) {
			const reader = files.readStream(at('a')).getReader();
			const first = reader.read();
			if (index % 10 === 0) blocks.push((await first).value!.length);
			await reader.cancel();
			await first;
		}
		expect(blocks).toEqual(Array.from({length: 14}, () => BLOCK_BYTES));
	});

	test('an aborted stream fails with the reason, in both directions', async () => {
		const {files, at} = await working();
		writeFileSync(at('a'), randomBytes(3 * BLOCK_BYTES));
		const [reading, writing] = [new AbortController(), new AbortController()];
		const reader = files.readStream(at('a'), {signal: reading.signal}).getReader();
		await reader.read();
		reading.abort(new Error('enough'));
		await expect(reader.read()).rejects.toThrow('enough');
		const writer = files.writeStream(at('b'), {signal: writing.signal}).getWriter();
		await writer.write(Buffer.from('x'));
		writing.abort(new Error('no more'));
		await expect(writer.write(Buffer.from('y'))).rejects.toThrow('no more');
		await expect(collect(files.readStream(at('a'), {signal: AbortSignal.abort()}))).rejects.toThrow('aborted');
	});

	test('changes below a watched directory are told until the watch is left', async ({skip}) => {
		const {files, at} = await workingWith('watch', skip);
		mkdirSync(at('sub'));
		const watch = await files.watch(at(), {ignore: ['*.log']});
		writeFileSync(at('a.log'), '');
		writeFileSync(at('sub', 'a'), '');
		const seen: string[] = [];
		for await (const {changes, overflow} of watch) {
			expect(overflow).toBe(false);
			seen.push(...changes.map(({path, kind}) => `${kind} ${nativePathOf(path)}`));
			if (seen.some(change => change.endsWith('/sub/a'))) break;
		}
		expect(seen).toContain(`created ${at('sub', 'a')}`);
		expect(seen.filter(change => change.endsWith('.log'))).toEqual([]);
		expect(await watch.next()).toEqual({done: true, value: undefined});
	});

	test('a watch fails when it is aborted, and when its directory goes', async ({skip}) => {
		const {files, at} = await workingWith('watch', skip);
		const controller = new AbortController();
		const watch = await files.watch(at(), {signal: controller.signal});
		const next = watch.next();
		controller.abort(new Error('enough'));
		await expect(next).rejects.toThrow('enough');
		await expect(files.watch(at(), {signal: controller.signal})).rejects.toThrow('enough');
		await expect(files.watch(at('no'))).rejects.toMatchObject(failing('not-found'));
		mkdirSync(at('d'));
		const doomed = await files.watch(at('d'));
		await files.remove(at('d'));
		const drained = async () => {
			for await (const _changes of doomed);
		};
		await expect(drained()).rejects.toMatchObject(failing('ended', 'the watch has ended'));
	});

	test('a missing path is told of when it appears, by the last watch that asked', async ({skip}) => {
		const {files, at} = await workingWith('watchMissing', skip);
		const first = await files.watchMissing([at('a', 'b')]);
		const second = await files.watchMissing([at('c'), at('d')]);
		if (!first.watching || !second.watching) throw new Error('not watching');
		await expect(first.changed).rejects.toMatchObject(failing('ended'));
		writeFileSync(at('d'), '');
		await second.changed;
		expect(await files.watchMissing([at('d')])).toEqual({watching: false});
	});

	test('a search tells what it finds and how it went', async ({skip}) => {
		const {files, at} = await workingWith('search', skip);
		await files.createDirectory(at('sub'));
		await files.writeFile(at('sub', 'a.ts'), 'one\n// TODO mend\n');
		await files.writeFile(at('b.md'), 'TODO');
		const search = files.search({path: at(), names: ['*.ts'], contents: {pattern: 'TODO'}});
		const found = [];
		for await (const match of search) found.push(match);
		expect(found).toEqual([
			{path: uri(at('sub', 'a.ts')), kind: 'file', line: 2, column: 4, byteOffset: 7, text: '// TODO mend'},
		]);
		expect(await search.outcome).toEqual({files: 2, matches: 1, truncated: false, cancelled: false, errors: []});
		const broken = files.search({path: at(), contents: {pattern: '(', regex: true}});
		await expect(broken.next()).rejects.toMatchObject(failing('refused'));
		await expect(files.search({path: at('no')}).outcome).rejects.toMatchObject(failing('not-found'));
	});

	test('a search that is left or aborted is cancelled', async ({skip}) => {
		const {files, at} = await workingWith('search', skip);
		writeFileSync(at('a'), `${'a'.repeat(40)}b\n`);
		// An expression that never ends.
		const endless = {path: at(), contents: {pattern: '(a+)+$', regex: true}};
		const search = files.search(endless);
		const next = search.next();
		await search.return!();
		expect(await next).toEqual({done: true, value: undefined});
		expect(await search.outcome).toMatchObject({cancelled: true});
		const controller = new AbortController();
		const aborted = files.search(endless, {signal: controller.signal});
		controller.abort(new Error('enough'));
		await expect(aborted.next()).rejects.toThrow('enough');
		await expect(aborted.outcome).rejects.toThrow('enough');
	});

	test('a tree is packed, and unpacked again with everything in it', async ({skip}) => {
		const {files, at} = await workingWith('transfer', skip);
		mkdirSync(at('a', 'sub'), {recursive: true});
		writeFileSync(at('a', 'sub', 'run'), randomBytes(3_000_000), {mode: 0o755});
		symlinkSync('sub', at('a', 'link'));
		const progress: number[] = [];
		const packed = await files.pack(at('a'), {progress: ({bytes}) => progress.push(bytes)});
		expect(packed.totals).toEqual({entries: 4, bytes: 3_000_000});
		const unpacked = await files.unpack(at('b'), {checksum: async () => (await packed.outcome).sha256});
		await packed.stream.pipeTo(unpacked.stream);
		expect(await unpacked.outcome).toEqual({...(await packed.outcome), entries: 4, bytes: 3_000_000, errors: []});
		expect(progress.at(-1)).toBe(3_000_000);
		expect(readlinkSync(at('b', 'link'))).toBe('sub');
		expect(lstatSync(at('b', 'sub', 'run')).mode & 0o777).toBe(0o755);
		expect(readFileSync(at('b', 'sub', 'run')).equals(readFileSync(at('a', 'sub', 'run')))).toBe(true);
	});

	test('a tree that is not what was sent is damaged, and one that is left is given up', async ({skip}) => {
		const {files, at} = await workingWith('transfer', skip);
		mkdirSync(at('a'));
		const packed = await files.pack(at('a'));
		const unpacked = await files.unpack(at('b'), {checksum: () => '00'});
		await expect(packed.stream.pipeTo(unpacked.stream)).rejects.toMatchObject(failing('damaged', 'checksum'));
		await expect(unpacked.outcome).rejects.toMatchObject(failing('damaged'));
		const left = await files.pack(at('a'));
		await left.stream.cancel();
		await expect(left.outcome).rejects.toMatchObject(failing('ended'));
		const aborted = await files.unpack(at('c'));
		await aborted.stream.abort();
		await expect(aborted.outcome).rejects.toMatchObject(failing('ended'));
	});

	test('when the link breaks everything under way fails as disconnected', async ({skip}) => {
		const {files, at, cut, isLongarm} = await working();
		if (!cut) skip('there is no link');
		writeFileSync(at('a'), randomBytes(9 * BLOCK_BYTES));
		const reader = files.readStream(at('a')).getReader();
		await reader.read();
		const watching = isLongarm ? (await files.watch(at())).next() : undefined;
		const missing = await files.watchMissing([at('no')]);
		const searching = isLongarm ? files.search({path: '/', contents: {pattern: 'x'}}).outcome : undefined;
		cut!();
		const error = failing('disconnected', /^exec-server transport closed$/);
		const drained = async () => {
			while (!(await reader.read()).done);
		};
		await expect(drained()).rejects.toMatchObject(error);
		const others = [watching, searching, missing.watching ? missing.changed : undefined];
		for (const other of others.filter(each => each !== undefined)) await expect(other).rejects.toMatchObject(error);
		await expect(files.readFile(at('a'))).rejects.toMatchObject({...error, path: at('a')});
	});
});
