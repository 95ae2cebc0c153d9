import {
	chmodSync,
	chownSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import type {CopyContext} from '../../../../src/client/files/copy/copy-context.js';
import {type CopySource, planCopies} from '../../../../src/client/files/copy/copy-plan.js';
import {CopyStats} from '../../../../src/client/files/copy/copy-stats.js';
import {runTasks} from '../../../../src/client/files/copy/run-tasks.js';
import type {Files, PackedTree, PackOptions} from '../../../../src/client/files/files.js';
import type {Path} from '../../../../src/client/paths.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import {PathUri} from '../../../../src/protocol/path-uri/path-uri.js';
import {describeTree} from '../../../helpers/file-trees.js';
import {needsRoot} from '../../../helpers/needs.js';
import {scratchDirectory} from '../../../helpers/scratch.js';

const LARGE_BYTES = 8 * 1024 * 1024;
const NOBODY = 65_534;
const MARKER = 'new.longarm-part';

class KilledError extends Error {}

/** Files of a program that is killed before one of its calls, counted from 0; everything it had open is gone with it. */
function killedBefore(files: Files, call: number): Files {
	let calls = 0;
	return new Proxy(files, {
		get(target, name: keyof Files) {
			const method = (target[name] as (...args: unknown[]) => unknown).bind(target);
			if (name === 'supports') return method;
			return (...args: unknown[]) => {
				if (calls++ >= call) throw new KilledError();
				return method(...args);
			};
		},
	});
}

/** An executor with the methods of the protocol only. */
class StockFiles extends LocalFiles {
	override async supports(): Promise<boolean> {
		return false;
	}
}

function workspace() {
	const directory = scratchDirectory();
	const at = (...names: string[]) => join(directory, ...names);
	mkdirSync(at('tree', 'sub'), {recursive: true});
	mkdirSync(at('target'));
	writeFileSync(at('tree', 'a'), 'a');
	writeFileSync(at('tree', 'sub', 'b'), 'b');
	return {at};
}

interface Copying {
	readonly files?: Files;
	readonly from?: Files;
	readonly identity?: string;
}

/** `cp -r SOURCE TARGET`. */
async function copy(source: string, target: string, {files, from, identity = 'tree'}: Copying = {}) {
	const stats = new CopyStats();
	const context: CopyContext = {signal: new AbortController().signal, stats, overwrite: true, observer: {}};
	const path = PathUri.fromNative(source);
	const sources: CopySource[] = [{files: from ?? new LocalFiles(), path, contentsOnly: false, identity}];
	const to = {files: files ?? new LocalFiles(), path: PathUri.fromNative(target), mustBeDirectory: false};
	await runTasks(await planCopies(sources, to, {}, context), context);
	return stats;
}

describe.each([
	['with the methods of longarm', () => new LocalFiles(), describeTree],
	// Times and modes are not kept there.
	[
		'of stock codex',
		() => new StockFiles(),
		(path: string) => readdirSync(path, {recursive: true, encoding: 'utf8'}).sort(),
	],
])('a tree that is copied to a new name of a server %s', (_, open, describeCopy) => {
	test('is the same, whenever the copy was killed and run again', async () => {
		const {at} = workspace();
		writeFileSync(at('tree', 'sub', 'large'), Buffer.alloc(LARGE_BYTES, 'x'));
		const target = at('target', 'new');
		for (let call = 0, isOver = false; !isOver; call++) {
			const killed = copy(at('tree'), target, {files: killedBefore(open(), call)});
			const failure = await killed.then(
				() => undefined,
				(error: unknown) => error,
			);
			expect(failure === undefined || failure instanceof KilledError).toBe(true);
			isOver = failure === undefined;
			if (!isOver) await copy(at('tree'), target, {files: open()});
			expect([call, readdirSync(at('target'))]).toEqual([call, ['new']]);
			expect([call, describeCopy(target)]).toEqual([call, describeCopy(at('tree'))]);
			rmSync(target, {recursive: true});
			expect(call).toBeLessThan(200);
		}
	});

	test('is a directory like any other when it is finished', async () => {
		const {at} = workspace();
		for (let run = 0; run < 2; run++) await copy(at('tree'), at('target', 'new'), {files: open()});
		expect(readdirSync(at('target', 'new')).sort()).toEqual(['a', 'sub', 'tree']);
	});

	test('is not taken for the copy of another source', async () => {
		const {at} = workspace();
		await interrupt(at('tree'), at('target', 'new'), open());
		await copy(at('tree'), at('target', 'new'), {files: open(), identity: 'another'});
		expect(readdirSync(at('target', 'new'))).toContain('tree');
	});

	test('leaves no marker that works for a later directory of that name', async () => {
		const {at} = workspace();
		await interrupt(at('tree'), at('target', 'new'), open());
		expect(existsSync(at('target', MARKER))).toBe(true);
		rmSync(at('target', 'new'), {recursive: true});
		// Times of creation have milliseconds.
		await new Promise(resolve => setTimeout(resolve, 5));
		mkdirSync(at('target', 'new'));
		await copy(at('tree'), at('target', 'new'), {files: open()});
		expect(readdirSync(at('target', 'new'))).toEqual(['tree']);
	});
});

/** A copy that ends when the target holds its directory and nothing else. */
async function interrupt(source: string, target: string, files: Files): Promise<void> {
	class Unreadable extends LocalFiles {
		override async pack(): Promise<PackedTree> {
			throw new KilledError();
		}
		override readStream(): ReadableStream<Uint8Array> {
			throw new KilledError();
		}
	}
	await expect(copy(source, target, {files, from: new Unreadable()})).rejects.toThrow(KilledError);
	expect(statSync(target).isDirectory()).toBe(true);
}

test('a tree with failures is gone on with by the same command', async () => {
	const {at} = workspace();
	class Failing extends LocalFiles {
		override async pack(path: Path, options: PackOptions = {}): Promise<PackedTree> {
			rmSync(at('tree', 'a'), {force: true});
			return super.pack(path, options);
		}
	}
	expect((await copy(at('tree'), at('target', 'new'), {from: new Failing()})).summary.failed).toBe(1);
	writeFileSync(at('tree', 'a'), 'a');
	expect((await copy(at('tree'), at('target', 'new'))).summary).toMatchObject({files: 1, failed: 0});
	expect(readdirSync(at('target'))).toEqual(['new']);
	expect(describeTree(at('target', 'new'))).toEqual(describeTree(at('tree')));
});

/** A tree with the marker of an interrupted copy; the copy again goes into it, or beside it. */
async function markedTree() {
	const {at} = workspace();
	await interrupt(at('tree'), at('target', 'new'), new LocalFiles());
	const copyAgain = async () => {
		await copy(at('tree'), at('target', 'new'));
		return readdirSync(at('target', 'new'));
	};
	return {at, copyAgain};
}

describe('a marker is not trusted', () => {
	test('if another user owns it', needsRoot(), async () => {
		const {at, copyAgain} = await markedTree();
		chownSync(at('target', MARKER), NOBODY, NOBODY);
		expect(await copyAgain()).toEqual(['tree']);
		expect(existsSync(at('target', MARKER))).toBe(true);
	});

	test('if others can write to it', async () => {
		const {at, copyAgain} = await markedTree();
		chmodSync(at('target', MARKER), 0o666);
		expect(await copyAgain()).toEqual(['tree']);
	});

	test('if it is a link', async () => {
		const {at, copyAgain} = await markedTree();
		writeFileSync(at('precious'), readFileSync(at('target', MARKER)), {mode: 0o600});
		rmSync(at('target', MARKER));
		symlinkSync(at('precious'), at('target', MARKER));
		expect(await copyAgain()).toEqual(['tree']);
	});
});

test.each(['link', 'directory', 'file'])('a %s with the name of the marker keeps its content', async kind => {
	const {at} = workspace();
	writeFileSync(at('precious'), 'precious');
	const place = at('target', MARKER);
	if (kind === 'link') symlinkSync(at('precious'), place);
	else if (kind === 'directory') mkdirSync(join(place, 'full'), {recursive: true});
	else writeFileSync(place, 'old', {mode: 0o666});
	await copy(at('tree'), at('target', 'new'));
	expect(readFileSync(at('precious'), 'utf8')).toBe('precious');
	expect(describeTree(at('target', 'new'))).toEqual(describeTree(at('tree')));
	expect(readdirSync(at('target'))).toEqual(kind === 'directory' ? ['new', MARKER] : ['new']);
});

test('a tree that only its owner may enter is private before anything is in it', async () => {
	const {at} = workspace();
	chmodSync(at('tree'), 0o700);
	class Looking extends LocalFiles {
		override async pack(path: Path, options: PackOptions = {}): Promise<PackedTree> {
			expect(statSync(at('target', 'new')).mode & 0o777).toBe(0o700);
			return super.pack(path, options);
		}
	}
	expect((await copy(at('tree'), at('target', 'new'), {from: new Looking()})).summary.failed).toBe(0);
});
