import {randomBytes} from 'node:crypto';
import {chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import type {CopyProgress} from '../../../../src/client/files/copy/copy-context.js';
import {copyFiles} from '../../../../src/client/files/copy/copy-files.js';
import type {FileFeature, Files} from '../../../../src/client/files/files.js';
import {RemoteFiles} from '../../../../src/client/files/remote/remote-files.js';
import {nativePathOf} from '../../../../src/client/paths.js';
import {SessionClient} from '../../../../src/client/session/session-client.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import type {Transport} from '../../../../src/transports/transport.js';
import {describeTree, makeOddTree} from '../../../helpers/file-trees.js';
import {eventually} from '../../../helpers/processes.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {TRANSPORTS} from '../../../helpers/transports.js';

const MiB = 1024 * 1024;
const LARGE_BYTES = 24 * MiB;
/** Blocks that a stream has counted as sent and the target may not have written yet. */
const MAX_UNWRITTEN_BYTES = 5 * MiB;

/** An executor with the methods of the protocol only. */
class PlainFiles extends LocalFiles {
	override async supports(): Promise<boolean> {
		return false;
	}
}

/** A longarm executor of before `fsResume`. */
class OlderFiles extends LocalFiles {
	override async supports(feature?: FileFeature): Promise<boolean> {
		return feature !== 'resume';
	}
}

/** The files of a server over a memory transport, and a way to break the connection, which is made again. */
async function remoteFiles(): Promise<{files: Files; cut: () => void}> {
	const connect = await TRANSPORTS['memory']!();
	let transport: Transport;
	const client = await SessionClient.open(async signal => (transport = await connect(signal)));
	onTestFinished(async () => {
		client.close();
		await client.ended;
	});
	return {files: new RemoteFiles(async () => client), cut: () => transport.destroy()};
}

const local = async (): Promise<Files> => new LocalFiles();
const remote = async (): Promise<Files> => (await remoteFiles()).files;

function workspace() {
	const root = scratchDirectory();
	// A directory that may not be written to cannot be removed by everybody.
	onTestFinished(() => {
		for (const name of readdirSync(root, {recursive: true, encoding: 'utf8'})) {
			if (name.endsWith('closed')) chmodSync(join(root, name), 0o755);
		}
	});
	return (...names: string[]) => join(root, ...names);
}

describe.each([
	{name: 'on this machine', source: local, target: local},
	{name: 'to a server', source: local, target: remote},
	{name: 'from a server', source: remote, target: local},
])('a copy $name', ({source, target}) => {
	async function working() {
		const at = workspace();
		const [from, to] = [await source(), await target()];
		const route = (one: string, other: string) => ({
			from: {files: from, path: at(one)},
			to: {files: to, path: at(other)},
		});
		return {at, route};
	}

	test('of a directory keeps names, links, modes, times and contents; the same call again sends nothing', async () => {
		const {at, route} = await working();
		makeOddTree(at('a'));
		writeFileSync(at('a', 'large'), randomBytes(9 * MiB));
		const figures = {resumedBytes: 0, failed: 0, failures: [], checked: 'checksum', synced: true};
		expect(await copyFiles(route('a', 'b'))).toMatchObject({...figures, files: 10, skipped: 0});
		expect(describeTree(at('b'))).toEqual(describeTree(at('a')));
		expect(await copyFiles(route('a', 'b'))).toEqual({...figures, files: 0, bytes: 0, skipped: 10});
	});

	test('of a large file that was aborted fails with the reason, and the next call resumes it', async () => {
		const {at, route} = await working();
		writeFileSync(at('a'), randomBytes(LARGE_BYTES));
		const controller = new AbortController();
		const onProgress = ({sentBytes}: CopyProgress) => {
			if (sentBytes >= 8 * MiB) controller.abort(new Error('enough'));
		};
		await expect(copyFiles(route('a', 'b'), {onProgress, signal: controller.signal})).rejects.toThrow('enough');
		expect(readdirSync(at())).toEqual(['a', 'b.longarm-part']);
		const {files, bytes, resumedBytes} = await copyFiles(route('a', 'b'));
		expect([files, bytes + resumedBytes]).toEqual([1, LARGE_BYTES]);
		expect(resumedBytes).toBeGreaterThanOrEqual(8 * MiB - MAX_UNWRITTEN_BYTES);
		expect([readdirSync(at()), readFileSync(at('b')).equals(readFileSync(at('a')))]).toEqual([['a', 'b'], true]);
	});

	test('of a directory that was aborted is completed by the next call', async () => {
		const {at, route} = await working();
		mkdirSync(at('a'));
		for (let index = 0; index < 40; index++) writeFileSync(at('a', `f${index}`), randomBytes(200_000));
		const controller = new AbortController();
		const onProgress = ({sentBytes}: CopyProgress) => {
			if (sentBytes >= MiB) controller.abort(new Error('enough'));
		};
		await expect(copyFiles(route('a', 'b'), {onProgress, signal: controller.signal})).rejects.toThrow('enough');
		// The end of an aborted stream is not waited for; it removes its partial file.
		await eventually(() => readdirSync(at('b')).every(name => !name.endsWith('.longarm-part')));
		const {files, skipped} = await copyFiles(route('a', 'b'));
		expect([files + skipped, skipped > 0]).toEqual([40, true]);
		expect(describeTree(at('b'))).toEqual(describeTree(at('a')));
	});

	test('tells its progress, up to the total', async () => {
		const {at, route} = await working();
		mkdirSync(at('a'));
		writeFileSync(at('a', 'large'), randomBytes(9 * MiB));
		writeFileSync(at('a', 'small'), randomBytes(1000));
		const total = 9 * MiB + 1000;
		const progress: CopyProgress[] = [];
		await copyFiles(route('a', 'b'), {onProgress: each => progress.push(each)});
		expect(progress.at(-1)).toMatchObject({files: 2, bytes: total, sentBytes: total, totalBytes: total});
		expect(progress.map(({name}) => name)).toContain('large');
		const bytes = progress.map(each => each.bytes);
		expect(bytes).toEqual(bytes.toSorted((one, other) => one - other));
	});

	test('that was aborted before it began does nothing', async () => {
		const {at, route} = await working();
		writeFileSync(at('a'), 'x');
		const signal = AbortSignal.abort(new Error('never'));
		await expect(copyFiles(route('a', 'b'), {signal})).rejects.toThrow('never');
		expect(readdirSync(at())).toEqual(['a']);
	});

	test('names the entries that could not be copied, and copies the others', async () => {
		const {at, route} = await working();
		mkdirSync(at('a', 'sub'), {recursive: true});
		for (const name of ['x', 'y', 'sub/z']) writeFileSync(at('a', name), name);
		mkdirSync(at('b', 'x'), {recursive: true});
		writeFileSync(at('b', 'sub'), 'in the way');
		const failed: string[] = [];
		const onFailure = ({location}: {location: {path: Parameters<typeof nativePathOf>[0]}}) =>
			failed.push(nativePathOf(location.path));
		const {files, failures} = await copyFiles(route('a', 'b'), {onFailure});
		expect([files, failed.toSorted()]).toEqual([1, [at('b', 'sub'), at('b', 'x')]]);
		expect(failures.map(({error}) => `${error.code}: ${error.detail}`).toSorted()).toEqual([
			'refused: a directory is in the way of a file',
			'refused: something that is no directory is in the way of a directory',
		]);
		expect(readFileSync(at('b', 'y'), 'utf8')).toBe('y');
	});

	test('replaces files unless it may not, and writes where a link leads', async () => {
		const {at, route} = await working();
		writeFileSync(at('a'), 'newer');
		writeFileSync(at('b'), 'old');
		symlinkSync('b', at('link'));
		expect(await copyFiles(route('a', 'b'), {overwrite: false})).toMatchObject({files: 0, skipped: 1});
		expect(readFileSync(at('b'), 'utf8')).toBe('old');
		expect(await copyFiles(route('a', 'link'))).toMatchObject({files: 1, skipped: 0});
		expect(readFileSync(at('b'), 'utf8')).toBe('newer');
	});

	test.each([
		['a source that is missing', 'none', 'b', {code: 'not-found'}],
		['a target in a directory that is missing', 'a', 'none/b', {code: 'refused', reason: 'no-parent'}],
		['a file onto itself', 'a', 'link', {code: 'refused', detail: 'source and target are the same'}],
		['a directory into itself', 'dir', 'dir/b', {code: 'refused'}],
		['a file onto a directory', 'a', 'dir', {code: 'refused', detail: 'a directory is in the way of a file'}],
	])('of %s is refused, and nothing is done', async (_, from, to, error) => {
		const {at, route} = await working();
		mkdirSync(at('dir'));
		writeFileSync(at('a'), 'x');
		symlinkSync('a', at('link'));
		const before = describeTree(at());
		await expect(copyFiles(route(from, to))).rejects.toMatchObject({name: 'FileError', ...error});
		expect(describeTree(at())).toEqual(before);
	});
});

test('a copy survives a connection that is lost and returns', async () => {
	const at = workspace();
	const {files, cut} = await remoteFiles();
	writeFileSync(at('a'), randomBytes(LARGE_BYTES));
	const retries: string[] = [];
	let isCut = false;
	const result = await copyFiles(
		{from: {files: new LocalFiles(), path: at('a')}, to: {files, path: at('b')}},
		{
			onRetry: ({code}) => retries.push(code),
			onProgress: ({sentBytes}) => {
				if (isCut || sentBytes < 8 * MiB) return;
				isCut = true;
				cut();
			},
		},
	);
	expect([retries, result.files, result.skipped, result.failed]).toEqual([['disconnected'], 1, 0, 0]);
	expect(result.resumedBytes).toBeGreaterThan(0);
	expect(readFileSync(at('b')).equals(readFileSync(at('a')))).toBe(true);
});

test.each(['metadata', 'digest'] as const)('an abort ends a copy whose %s call is never answered', async method => {
	const at = workspace();
	writeFileSync(at('a'), 'content');
	const controller = new AbortController();
	const to = new LocalFiles();
	vi.spyOn(to, method).mockImplementation(() => {
		controller.abort(new Error('enough'));
		return new Promise<never>(() => {});
	});
	const route = {from: {files: new LocalFiles(), path: at('a')}, to: {files: to, path: at('b')}};
	await expect(copyFiles(route, {signal: controller.signal})).rejects.toThrow('enough');
	expect(readdirSync(at())).not.toContain('b');
});

describe.each([
	['from', new PlainFiles(), new LocalFiles()],
	['to', new LocalFiles(), new PlainFiles()],
	['from', new OlderFiles(), new LocalFiles()],
	['to', new LocalFiles(), new OlderFiles()],
])('a copy %s an executor that cannot resume', (_, from, to) => {
	test('has the contents, read back, and says so', async () => {
		const at = workspace();
		mkdirSync(at('a', 'sub'), {recursive: true});
		writeFileSync(at('a', 'sub', 'x'), randomBytes(100_000));
		symlinkSync('sub', at('a', 'link'));
		const fallbacks: Files[] = [];
		const result = await copyFiles(
			{from: {files: from, path: at('a')}, to: {files: to, path: at('b')}},
			{onFallback: ({files}) => fallbacks.push(files)},
		);
		expect(result).toMatchObject({files: 1, bytes: 100_000, skipped: 0, failed: 0, checked: 'read-back'});
		expect(fallbacks).toEqual([(await (from as Files).supports('resume')) ? to : from]);
		expect(readdirSync(at('b'))).toEqual(['sub']);
		expect(readFileSync(at('b', 'sub', 'x')).equals(readFileSync(at('a', 'sub', 'x')))).toBe(true);
		expect(readdirSync(at('b', 'sub'))).toEqual(['x']);
	});
});
