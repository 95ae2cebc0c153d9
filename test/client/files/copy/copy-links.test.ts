import {createHash} from 'node:crypto';
import {mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {pack as tarPack} from 'tar-stream';
import {describe, expect, test} from 'vitest';
import type {CopyContext} from '../../../../src/client/files/copy/copy-context.js';
import {copyFiles} from '../../../../src/client/files/copy/copy-files.js';
import {planCopies} from '../../../../src/client/files/copy/copy-plan.js';
import {CopyStats} from '../../../../src/client/files/copy/copy-stats.js';
import {runTasks} from '../../../../src/client/files/copy/run-tasks.js';
import {transfer} from '../../../../src/client/files/copy/transfer.js';
import type {FileError} from '../../../../src/client/files/file-error.js';
import type {
	DigestOptions,
	FileFeature,
	Files,
	ListedEntry,
	Metadata,
	PackedTree,
	PackOptions,
	ReadStreamOptions,
	TransferOutcome,
	TreeEntry,
} from '../../../../src/client/files/files.js';
import {nativePathOf, type Path} from '../../../../src/client/paths.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import {PathUri} from '../../../../src/protocol/path-uri/path-uri.js';
import {describeTree} from '../../../helpers/file-trees.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {LOCAL_AND_REMOTE} from '../../local-and-remote.js';

const LARGE_BYTES = 8 * 1024 * 1024;
const MODIFIED_AT_MS = 1_700_000_000_000;

interface SentEntry {
	readonly name: string;
	/** Target of a link; a file without it. */
	readonly link?: string;
	readonly content?: Buffer;
}

/** A machine that says and sends whatever it likes: a link first, and then something below it. */
class HostileFiles extends LocalFiles {
	readonly #entries: readonly SentEntry[];
	readonly #isDamaged: boolean;
	readonly #lacks: readonly FileFeature[];

	constructor(entries: readonly SentEntry[], {isDamaged = false, lacks = [] as readonly FileFeature[]} = {}) {
		super();
		this.#entries = entries;
		this.#isDamaged = isDamaged;
		this.#lacks = lacks;
	}

	override async supports(feature?: FileFeature): Promise<boolean> {
		return !this.#lacks.includes(feature!);
	}

	override async metadata(path: Path): Promise<Metadata> {
		const isDirectory = !this.#entries.some(({name}) => nativePathOf(path).endsWith(`/${name}`));
		const size = isDirectory ? 0 : 3;
		return {isDirectory, isFile: !isDirectory, isSymlink: false, size, createdAtMs: 0, modifiedAtMs: 0};
	}

	override async *list(): AsyncGenerator<TreeEntry> {
		yield {name: '', kind: 'directory', size: 0, mode: 0o755, modifiedAtMs: MODIFIED_AT_MS};
		for (const entry of this.#entries) yield toListed(entry);
	}

	override async pack(_path: Path, {names}: PackOptions = {}): Promise<PackedTree> {
		const archive = tarPack();
		const mtime = new Date(MODIFIED_AT_MS);
		for (const {name, link, content = Buffer.alloc(0)} of this.#entries) {
			if (names && !names.includes(name)) continue;
			if (link === undefined) archive.entry({name, mtime, mode: 0o644}, content);
			else archive.entry({name, mtime, type: 'symlink', linkname: link});
		}
		archive.finalize();
		const chunks: Buffer[] = [];
		for await (const chunk of archive) chunks.push(chunk);
		const bytes = Buffer.concat(chunks);
		const sha256 = createHash('sha256').update(bytes).digest('hex');
		const outcome = {entries: 1, bytes: bytes.length, sha256: this.#isDamaged ? '0'.repeat(64) : sha256, errors: []};
		return {
			totals: {entries: 1, bytes: bytes.length},
			stream: new Blob([bytes]).stream() as ReadableStream<Uint8Array>,
			outcome: Promise.resolve<TransferOutcome>(outcome),
		};
	}

	override readStream(path: Path, {offset = 0}: ReadStreamOptions = {}): ReadableStream<Uint8Array> {
		return new Blob([this.#contentOf(path).subarray(offset)]).stream() as ReadableStream<Uint8Array>;
	}

	override async digest(path: Path, {offset, length}: DigestOptions) {
		const range = this.#contentOf(path).subarray(offset, offset + length);
		return {sha256: createHash('sha256').update(range).digest('hex'), length: range.length};
	}

	#contentOf(path: Path): Buffer {
		return this.#entries.find(({name}) => nativePathOf(path).endsWith(`/${name}`))!.content!;
	}
}

function toListed({name, link, content}: SentEntry): ListedEntry {
	const common = {name, mode: 0o644, modifiedAtMs: MODIFIED_AT_MS};
	if (link !== undefined) return {...common, kind: 'symlink', size: link.length, target: link};
	return {...common, kind: 'file', size: content!.length};
}

/** A longarm executor of before `fsRoot`. */
class UnrootedFiles extends LocalFiles {
	override async supports(feature?: FileFeature): Promise<boolean> {
		return feature !== 'root';
	}
}

/** An executor with the methods of the protocol only. */
class StockFiles extends LocalFiles {
	override async supports(): Promise<boolean> {
		return false;
	}
}

/** Directories of a test: everything in `outside` has to stay as it is. */
function workspace() {
	const directory = scratchDirectory();
	const at = (...names: string[]) => join(directory, ...names);
	for (const name of ['source', 'target', 'outside']) mkdirSync(at(name));
	const write = (path: string, content: string | Buffer = 'new') => {
		mkdirSync(dirname(at(path)), {recursive: true});
		writeFileSync(at(path), content);
	};
	write('outside/small', 'precious');
	write('outside/large', 'precious');
	const before = describeTree(at('outside'));
	const expectUntouched = () => {
		expect(describeTree(at('outside'))).toEqual(before);
		expect(readdirSync(directory).sort()).toEqual(['outside', 'source', 'target']);
	};
	return {at, write, expectUntouched};
}

async function copyInto(from: {files: Files; path: string}, to: {files: Files; path: string}) {
	const stats = new CopyStats();
	const context: CopyContext = {signal: new AbortController().signal, stats, overwrite: true, observer: {}};
	const source = {files: from.files, path: PathUri.fromNative(from.path), contentsOnly: false};
	const target = {files: to.files, path: PathUri.fromNative(to.path), mustBeDirectory: false};
	await runTasks(await planCopies([source], target, {}, context), context);
	return stats;
}

const large = Buffer.alloc(LARGE_BYTES, 'x');
const small = Buffer.from('new');
const TARGETS: Record<string, () => Promise<Files>> = {
	'on this machine': async () => new LocalFiles(),
	'on a server': async () => (await LOCAL_AND_REMOTE['over memory']!()).files,
	'on a server without roots': async () => new UnrootedFiles(),
};

describe.each(Object.entries(TARGETS))('a copy to a target %s', (_, open) => {
	test.each([
		['a small file', {name: 'd/small', content: small}],
		['a large file', {name: 'd/large', content: large}],
		['a large file two levels below', {name: 'd/deep/large', content: large}],
		['a new large file', {name: 'd/created', content: large}],
	])('does not follow a link that the source sent, to write %s', async (_name, entry) => {
		const {at, expectUntouched} = workspace();
		mkdirSync(at('outside', 'deep'));
		const from = new HostileFiles([{name: 'd', link: at('outside')}, entry]);
		const {failures} = await copyFiles({
			from: {files: from, path: at('source')},
			to: {files: await open(), path: at('target', 'copy')},
		});
		expect(failures).toHaveLength(1);
		expect(readdirSync(at('outside', 'deep'))).toEqual([]);
		renameSync(at('outside', 'deep'), at('target', 'deep'));
		expectUntouched();
	});

	test.each([false, true])('replaces nothing that the source was not asked for (damaged: %s)', async isDamaged => {
		const {at, write} = workspace();
		write('target/copy/small', 'precious');
		write('target/copy/d/small', 'precious');
		class SendingAll extends HostileFiles {
			override pack(path: Path): Promise<PackedTree> {
				return super.pack(path);
			}
		}
		const entries = [
			{name: 'asked', content: small},
			{name: 'd/small', content: small},
			{name: 'small', content: small},
		];
		const from = new SendingAll(entries, {isDamaged});
		const route = {from: {files: from, path: at('source')}, to: {files: await open(), path: at('target', 'copy')}};
		const copying = copyFiles(route, {overwrite: false});
		const code = await copying.then(
			() => undefined,
			(error: FileError) => error.code,
		);
		expect(code).toBe(isDamaged ? 'damaged' : undefined);
		for (const name of ['small', 'd/small']) expect(readFileSync(at('target', 'copy', name), 'utf8')).toBe('precious');
	});

	test('does not follow a link that the source sent, to remove what arrived damaged', async () => {
		const {at, expectUntouched} = workspace();
		const entries = [
			{name: 'd', link: at('outside')},
			{name: 'd/small', content: small},
		];
		const from = new HostileFiles(entries, {isDamaged: true});
		const route = {
			from: {files: from, path: at('source')},
			to: {files: await open(), path: at('target', 'copy')},
		};
		await expect(copyFiles(route)).rejects.toMatchObject({code: 'damaged'});
		expectUntouched();
	});

	test('does not follow a link that a directory of the source became before it was sent', async () => {
		const {at, write, expectUntouched} = workspace();
		write('source/d/large', large);
		class Swapped extends LocalFiles {
			override async pack(path: Path, options?: PackOptions): Promise<PackedTree> {
				renameSync(at('source', 'd'), at('source', 'was'));
				symlinkSync(at('outside'), at('source', 'd'));
				return super.pack(path, options);
			}
		}
		const {failures} = await copyFiles({
			from: {files: new Swapped(), path: at('source')},
			to: {files: await open(), path: at('target', 'copy')},
		});
		expect(failures).not.toEqual([]);
		expectUntouched();
	});

	test('does not follow a link that a directory of the target became meanwhile', async () => {
		const {at, write, expectUntouched} = workspace();
		write('source/d/large', large);
		class Waiting extends LocalFiles {
			override readStream(path: Path, options?: ReadStreamOptions): ReadableStream<Uint8Array> {
				renameSync(at('target', 'copy', 'd'), at('target', 'was'));
				symlinkSync(at('outside'), at('target', 'copy', 'd'));
				return super.readStream(path, options);
			}
		}
		const files = await open();
		const {failures} = await copyFiles({
			from: {files: new Waiting(), path: at('source')},
			to: {files, path: at('target', 'copy')},
		});
		// A target without roots takes the file as a part of a stream, which is not read by its path.
		expect(failures.length > 0).toBe(await files.supports('root'));
		expectUntouched();
	});

	test('does not follow a link that was in the target before', async () => {
		const {at, write, expectUntouched} = workspace();
		for (const name of ['small', 'large']) write(`source/d/${name}`, name === 'large' ? large : small);
		mkdirSync(at('target', 'source'));
		symlinkSync(at('outside'), at('target', 'source', 'd'));
		const stats = await copyInto(
			{files: new LocalFiles(), path: at('source')},
			{files: await open(), path: at('target')},
		);
		expect(stats.summary).toMatchObject({files: 0, failed: 1});
		expectUntouched();
	});

	test('does not follow a link with the name of the source in the directory that was named', async () => {
		const {at, write, expectUntouched} = workspace();
		write('source/small', small);
		write('source/large', large);
		symlinkSync(at('outside'), at('target', 'source'));
		const stats = await copyInto(
			{files: new LocalFiles(), path: at('source')},
			{files: await open(), path: at('target')},
		);
		expect(stats.summary).toMatchObject({files: 0, failed: 1});
		expectUntouched();
	});

	test('follows a link that was named as the target', async () => {
		const {at, write} = workspace();
		write('source/d/large', large);
		symlinkSync(at('outside'), at('target', 'named'));
		const {failures, files} = await copyFiles({
			from: {files: new LocalFiles(), path: at('source')},
			to: {files: await open(), path: at('target', 'named')},
		});
		expect([failures, files]).toEqual([[], 1]);
		expect(readFileSync(at('outside', 'd', 'large')).equals(large)).toBe(true);
	});
});

test('a large file is not read through a link that its directory became after it was listed', async () => {
	const {at, write} = workspace();
	write('source/d/large', large);
	write('outside/large', Buffer.alloc(LARGE_BYTES, 's'));
	class Swapped extends LocalFiles {
		override readStream(path: Path, options?: ReadStreamOptions): ReadableStream<Uint8Array> {
			renameSync(at('source', 'd'), at('source', 'was'));
			symlinkSync(at('outside'), at('source', 'd'));
			return super.readStream(path, options);
		}
	}
	const {failures} = await copyFiles({
		from: {files: new Swapped(), path: at('source')},
		to: {files: new LocalFiles(), path: at('target', 'copy')},
	});
	expect(failures).toHaveLength(1);
	for (const name of readdirSync(at('target', 'copy', 'd'))) {
		expect(readFileSync(at('target', 'copy', 'd', name)).includes('s')).toBe(false);
	}
});

describe.each([
	['copyFiles', async (route: Parameters<typeof transfer>[0]) => (await copyFiles(route)).failures.length],
	[
		'transfer',
		async (route: Parameters<typeof transfer>[0]) => (await transfer(route, {overwrite: true})).errors.length,
	],
])('%s, file by file', (_, copy) => {
	test.each([
		['a directory', 'd', 'outside'],
		['a file', 'd/small', 'outside/small'],
		['a missing file', 'd/small', 'outside/missing'],
	])('to a stock server refuses a link to %s that is in the target', async (_name, place, leadsTo) => {
		const {at, write, expectUntouched} = workspace();
		write('source/d/small', small);
		mkdirSync(dirname(at('target', place)), {recursive: true});
		symlinkSync(at(leadsTo), at('target', place));
		const failures = await copy({
			from: {files: new LocalFiles(), path: at('source')},
			to: {files: new StockFiles(), path: at('target')},
		}).catch(() => 1);
		expect(failures).toBeGreaterThan(0);
		expectUntouched();
	});

	test('from a stock server follows no link below the target', async () => {
		const {at, write, expectUntouched} = workspace();
		write('source/d/small', small);
		symlinkSync(at('outside'), at('target', 'd'));
		const failures = await copy({
			from: {files: new StockFiles(), path: at('source')},
			to: {files: new LocalFiles(), path: at('target')},
		}).catch(() => 1);
		expect(failures).toBeGreaterThan(0);
		expectUntouched();
	});

	test('takes no link for a file that was asked for', async () => {
		const {at, expectUntouched} = workspace();
		const from = new HostileFiles([{name: 'small', link: at('outside', 'small')}], {lacks: ['resume', 'root']});
		const route = {
			from: {files: from, path: at('source', 'small')},
			to: {files: new LocalFiles(), path: at('target', 'small')},
		};
		await expect(copy(route)).rejects.toThrow(/not a regular file|symbolic link/);
		expect(readdirSync(at('target'))).toEqual([]);
		expectUntouched();
	});
});
