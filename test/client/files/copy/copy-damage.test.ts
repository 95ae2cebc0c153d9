import {randomBytes} from 'node:crypto';
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {CopyContext, CopyObserver} from '../../../../src/client/files/copy/copy-context.js';
import {copyFiles} from '../../../../src/client/files/copy/copy-files.js';
import {CopyStats} from '../../../../src/client/files/copy/copy-stats.js';
import {runTasks} from '../../../../src/client/files/copy/run-tasks.js';
import type {UnpackedTree, UnpackOptions, WriteStreamOptions} from '../../../../src/client/files/files.js';
import {nativePathOf, type Path} from '../../../../src/client/paths.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import {PathUri} from '../../../../src/protocol/path-uri/path-uri.js';
import {describeTree} from '../../../helpers/file-trees.js';
import {scratchDirectory} from '../../../helpers/scratch.js';

/** A machine whose line changes a byte, so many times. */
class DamagingFiles extends LocalFiles {
	#left: number;

	constructor(times: number) {
		super();
		this.#left = times;
	}

	override writeStream(path: Path, options: WriteStreamOptions = {}): WritableStream<Uint8Array> {
		return this.#damaging(super.writeStream(path, options));
	}

	override async unpack(path: Path, options?: UnpackOptions): Promise<UnpackedTree> {
		const tree = await super.unpack(path, options);
		return {...tree, stream: this.#damaging(tree.stream)};
	}

	#damaging(stream: WritableStream<Uint8Array>): WritableStream<Uint8Array> {
		const damage = new TransformStream<Uint8Array, Uint8Array>({
			transform: (chunk, controller) => {
				const copy = chunk.slice();
				if (this.#left > 0 && copy.length > 1000) {
					copy[1000]! ^= 1;
					this.#left--;
				}
				controller.enqueue(copy);
			},
		});
		const piped = damage.readable.pipeTo(stream);
		const writer = damage.writable.getWriter();
		return new WritableStream({
			write: chunk => writer.write(chunk),
			close: async () => {
				await writer.close();
				await piped;
			},
			abort: reason => writer.abort(reason),
		});
	}
}

function locationOf(files: LocalFiles, path: string) {
	return {files, path: PathUri.fromNative(path)};
}

function working(times: number) {
	const root = scratchDirectory();
	const at = (...names: string[]) => join(root, ...names);
	const lines: string[] = [];
	const observer: CopyObserver = {
		onFailure: ({location, error}) => lines.push(`error: ${nativePathOf(location.path)}: ${error.detail}`),
		onRetry: error => lines.push(error.message),
		onFallback: ({path}) => lines.push(nativePathOf(path)),
	};
	const context: CopyContext = {
		signal: new AbortController().signal,
		stats: new CopyStats(observer),
		overwrite: true,
		observer,
	};
	const copy = (kind: 'file' | 'directory', from: string, to: string) =>
		runTasks([{kind, from: locationOf(new LocalFiles(), from), to: locationOf(new DamagingFiles(times), to)}], context);
	return {at, copy, lines, stats: context.stats};
}

test('a file that was damaged on its way is sent again', async () => {
	const {at, copy, lines} = working(1);
	writeFileSync(at('a'), randomBytes(3_000_000));
	await copy('file', at('a'), at('b'));
	expect([lines, readFileSync(at('b')).equals(readFileSync(at('a')))]).toEqual([[], true]);
});

test('a file that is damaged every time is a failure and never gets its name', async () => {
	const {at, copy, lines, stats} = working(Number.POSITIVE_INFINITY);
	writeFileSync(at('a'), randomBytes(3_000_000));
	await copy('file', at('a'), at('b'));
	expect(lines).toEqual([`error: ${at('a')}: what arrived is not what was sent`]);
	expect([existsSync(at('b')), stats.summary.failed, stats.summary.files]).toEqual([false, 1, 0]);
});

test('a stream of small files that was damaged is sent again', async () => {
	const {at, copy, lines} = working(1);
	mkdirSync(at('a'));
	writeFileSync(at('a', 'x'), randomBytes(100_000));
	await copy('directory', at('a'), at('b'));
	expect([lines, describeTree(at('b'))]).toEqual([[], describeTree(at('a'))]);
});

test('a stream of small files that is damaged every time is a failure, and none of its files stays', async () => {
	const {at, copy, lines, stats} = working(Number.POSITIVE_INFINITY);
	mkdirSync(at('a'));
	writeFileSync(at('a', 'x'), randomBytes(100_000));
	await copy('directory', at('a'), at('b'));
	expect(lines).toEqual([`error: ${at('b')}: the stream has another checksum than its other end says`]);
	expect([stats.summary.failed, stats.summary.files, readdirSync(at('b'))]).toEqual([1, 0, []]);
});

test.each(['file', 'directory'])('copyFiles of a %s fails with what arrived damaged every time', async kind => {
	const root = scratchDirectory();
	const [from, to] = [join(root, 'a'), join(root, 'b')];
	if (kind === 'directory') mkdirSync(from);
	writeFileSync(kind === 'directory' ? join(from, 'x') : from, randomBytes(100_000));
	const route = {
		from: {files: new LocalFiles(), path: from},
		to: {files: new DamagingFiles(Number.POSITIVE_INFINITY), path: to},
	};
	await expect(copyFiles(route)).rejects.toMatchObject({name: 'FileError', code: 'damaged'});
	expect(existsSync(kind === 'directory' ? join(to, 'x') : to)).toBe(false);
	const repaired = {...route, to: {files: new DamagingFiles(1), path: to}};
	expect(await copyFiles(repaired)).toMatchObject({files: 1, failed: 0, checked: 'checksum'});
	const [sent, arrived] = [from, to].map(path => readFileSync(kind === 'directory' ? join(path, 'x') : path));
	expect(arrived!.equals(sent!)).toBe(true);
});
