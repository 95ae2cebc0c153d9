import {existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {withNativePath} from '../../../src/client/files/native-entry.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';
import {LOCAL_AND_REMOTE} from '../local-and-remote.js';

const FILES = {
	...LOCAL_AND_REMOTE,
	'of an environment': async () => ({files: (await ENVIRONMENTS['this machine']!()).files, isLongarm: true}),
};

describe.each(Object.entries(FILES))('files %s', (_name, connect) => {
	test('what is there is told from what is not', async () => {
		const {files} = await connect();
		const directory = scratchDirectory();
		const path = join(directory, 'note');
		writeFileSync(path, 'four');
		symlinkSync('nowhere', join(directory, 'link'));
		expect(await files.stat(path)).toMatchObject({isFile: true, size: 4});
		await expect(files.stat(join(directory, 'none'))).rejects.toMatchObject({code: 'not-found'});
		const names = ['', 'note', 'none', 'link', 'note/below'];
		expect(await Promise.all(names.map(name => files.exists(join(directory, name))))).toEqual([
			true,
			true,
			false,
			false,
			false,
		]);
		await expect(files.exists('relative')).rejects.toMatchObject({name: 'FileError'});
		expect((await files.readdir(directory)).map(({fileName}) => fileName)).toEqual(['note']);
	});

	test('directories are made and removed with the care of node:fs', async () => {
		const {files} = await connect();
		const directory = join(scratchDirectory(), 'made');
		await files.mkdir(directory);
		await expect(files.mkdir(directory)).rejects.toMatchObject({name: 'FileError'});
		await expect(files.mkdir(join(directory, 'a', 'b'))).rejects.toMatchObject({code: 'not-found'});
		await files.mkdir(join(directory, 'a', 'b'), {recursive: true});
		await expect(files.rm(directory)).rejects.toMatchObject({name: 'FileError'});
		await expect(files.rm(directory, {recursive: undefined} as object)).rejects.toMatchObject({name: 'FileError'});
		expect(existsSync(join(directory, 'a', 'b'))).toBe(true);
		await files.rm(directory, {recursive: true});
		await expect(files.rm(directory)).rejects.toMatchObject({code: 'not-found'});
		await files.rm(directory, {force: true});
		expect(existsSync(directory)).toBe(false);
	});

	test('a slip in an option of a change is refused, and nothing is changed', async () => {
		const {files} = await connect();
		const directory = scratchDirectory();
		const path = join(directory, 'note');
		writeFileSync(path, 'kept');
		await expect(files.remove(directory, {recursve: false} as object)).rejects.toThrow('did you mean `recursive`?');
		await expect(files.rm(directory, {recursiv: true} as object)).rejects.toThrow(TypeError);
		await expect(files.writeFile(path, 'new', {atomc: true} as object)).rejects.toThrow('did you mean `atomic`?');
		await expect(files.copy(path, `${path}2`, {recursive: 'yes'} as never)).rejects.toThrow('true or false');
		await expect(files.rename(path, `${path}2`, {overwrit: true} as object)).rejects.toThrow('`overwrite`?');
		await expect(files.mkdir(`${path}2`, {recursve: true} as object)).rejects.toThrow(TypeError);
		expect([readFileSync(path, 'utf8'), existsSync(`${path}2`)]).toEqual(['kept', false]);
	});

	test('changes and matches have the path as programs write it', async () => {
		const {files, isLongarm} = await connect();
		if (!isLongarm) return;
		const directory = join(scratchDirectory(), 'with space');
		mkdirSync(directory);
		const path = join(directory, 'né.txt');
		await using watch = await files.watch(directory);
		writeFileSync(path, 'find me\n');
		for await (const {changes} of watch) {
			expect(changes).toMatchObject([{nativePath: path, kind: 'created'}]);
			break;
		}
		for await (const match of files.search({path: directory, contents: {pattern: 'find'}})) {
			expect(match).toMatchObject({nativePath: path, line: 1});
			expect(match.path).toMatch(/^file:.*with%20space/);
		}
	});
});

test('a path whose bytes are not text has no native form', () => {
	expect(withNativePath({path: 'file:///a%FF'}).nativePath).toBeUndefined();
	expect(withNativePath({path: 'file:///a%20b', line: 3})).toEqual({path: 'file:///a%20b', line: 3});
	expect(withNativePath({path: 'file:///C:/a'}).nativePath).toBeDefined();
});
