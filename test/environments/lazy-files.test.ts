import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {FamiliarFiles} from '../../src/client/files/familiar-files.js';
import type {Files} from '../../src/client/files/files.js';
import {LazyFiles} from '../../src/environments/lazy-files.js';
import {LocalFiles} from '../../src/environments/local/local-files.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {ENVIRONMENTS} from '../helpers/transports.js';

const LARGE = Buffer.alloc(5 * 1024 * 1024 + 17, 'longarm ');

describe.each(Object.entries(ENVIRONMENTS))('%s: as the first use of its files', (_name, machine) => {
	test('a stream reads a file to its end', async () => {
		const path = join(scratchDirectory(), 'large');
		writeFileSync(path, LARGE);
		const {files} = await machine();
		expect(Buffer.from(await new Response(files.readStream(path)).arrayBuffer()).equals(LARGE)).toBe(true);
	});

	test('a stream writes a file, and what is written next goes the direct way', async () => {
		const path = join(scratchDirectory(), 'written');
		const {files} = await machine();
		for (const content of [LARGE, LARGE.subarray(1)]) {
			const writer = files.writeStream(path).getWriter();
			await writer.write(new Uint8Array(content));
			await writer.close();
			expect(readFileSync(path).equals(content)).toBe(true);
		}
	});

	test('a stream of a file that is missing fails as the file does', async () => {
		const path = join(scratchDirectory(), 'missing');
		const {files} = await machine();
		const [streamed, read] = await Promise.all([
			files
				.readStream(path)
				.getReader()
				.read()
				.catch((error: unknown) => error),
			files.readFile(path).catch((error: unknown) => error),
		]);
		expect(streamed).toMatchObject({name: 'FileError', code: 'not-found'});
		expect(read).toMatchObject({name: 'FileError', code: 'not-found'});
	});

	test('an aborted stream fails with the reason of its signal', async () => {
		const path = join(scratchDirectory(), 'kept');
		const {files} = await machine();
		const reason = new Error('enough');
		const signal = AbortSignal.abort(reason);
		await expect(files.readStream(path, {signal}).getReader().read()).rejects.toBe(reason);
		await expect(files.writeStream(path, {signal}).getWriter().closed).rejects.toBe(reason);
	});
});

test('a stream that is left tells the implementation', async () => {
	const told: unknown[] = [];
	const files = new LazyFiles(async () => fakeFiles(told));
	await files.readStream('/f').cancel('not wanted');
	await files.writeStream('/f').abort('given up');
	expect(told).toEqual(['not wanted', 'given up']);
});

test('a search and a list wait for the implementation', async () => {
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'inner'));
	const search = lazyLocal().search({path: directory, names: ['inner']});
	const found: string[] = [];
	for await (const {path} of search) found.push(path);
	expect(found).toEqual([`file://${join(directory, 'inner')}`]);
	expect(await search.outcome).toMatchObject({errors: []});
	const names: string[] = [];
	for await (const {name} of lazyLocal().list(directory, {depth: 1})) names.push(name);
	expect(names).toEqual(['', 'inner']);
});

test('a search that is left ends, and one that cannot begin rejects its reader and its outcome', async () => {
	const left = lazyLocal().search({path: scratchDirectory()});
	expect(await left.return?.()).toEqual({done: true, value: undefined});
	const failing = new LazyFiles(() => Promise.reject(new Error('not there'))).search({path: '/'});
	await expect(failing.next()).rejects.toThrow('not there');
	await expect(failing.outcome).rejects.toThrow('not there');
});

test('every method of files is passed on, and the implementation is loaded once it is used', async () => {
	let loads = 0;
	const implementation = new LocalFiles();
	const lazy = new LazyFiles(async () => {
		loads++;
		return implementation;
	});
	const names = [LocalFiles, FamiliarFiles].flatMap(({prototype}) => Object.getOwnPropertyNames(prototype));
	const methods = names.filter(name => name !== 'constructor');
	expect(Object.keys(lazy).sort()).toEqual(methods.sort());
	expect(loads).toBe(0);
	expect(await lazy.supports('resume')).toBe(true);
	expect(loads).toBe(1);
});

function lazyLocal(): LazyFiles {
	return new LazyFiles(async () => new LocalFiles());
}

function fakeFiles(told: unknown[]): Files {
	return {
		readStream: () => new ReadableStream({cancel: reason => void told.push(reason)}, {highWaterMark: 0}),
		writeStream: () => new WritableStream({abort: reason => void told.push(reason)}),
	} as unknown as Files;
}
