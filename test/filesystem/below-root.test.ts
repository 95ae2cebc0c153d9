import {
	existsSync,
	linkSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	renameSync,
	symlinkSync,
	unlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import type {Files} from '../../src/client/files/files.js';
import {openChainBelow, withEntryBelow} from '../../src/filesystem/below-root.js';
import {bytePath} from '../../src/filesystem/byte-path.js';
import {preferredCalls} from '../../src/filesystem/syscalls.js';
import {LOCAL_AND_REMOTE} from '../client/local-and-remote.js';
import {describeTree} from '../helpers/file-trees.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** A root that a link leads to, with a link to a directory outside of it. */
function workspace() {
	const directory = scratchDirectory();
	const at = (...names: string[]) => join(directory, ...names);
	mkdirSync(at('real', 'inside'), {recursive: true});
	mkdirSync(at('outside'));
	writeFileSync(at('real', 'file'), 'file');
	writeFileSync(at('real', 'inside', 'file'), 'inside');
	writeFileSync(at('outside', 'file'), 'outside');
	symlinkSync('real', at('root'));
	symlinkSync(at('outside'), at('real', 'link'));
	symlinkSync(at('outside', 'file'), at('real', 'file-link'));
	return at;
}

type At = ReturnType<typeof workspace>;
type Operation = (files: Files, path: string, root: string, at: At) => Promise<unknown>;

async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
	const found: T[] = [];
	for await (const item of items) found.push(item);
	return found;
}

async function writeAll(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
	const writer = stream.getWriter();
	await writer.write(Buffer.from(text));
	await writer.close();
}

const OPERATIONS: Record<string, Operation> = {
	readFile: (files, path, root) => files.readFile(path, {root}),
	writeFile: (files, path, root) => files.writeFile(path, 'new', {root}),
	'writeFile, atomic': (files, path, root) => files.writeFile(path, 'new', {root, atomic: true}),
	metadata: (files, path, root) => files.metadata(path, {root}),
	remove: (files, path, root) => files.remove(path, {root}),
	'rename from': (files, path, root, at) => files.rename(path, at('root', 'moved'), {root, overwrite: true}),
	'rename to': (files, path, root, at) => files.rename(at('root', 'file'), path, {root, overwrite: true}),
	readStream: (files, path, root) => readAll(files.readStream(path, {root}) as AsyncIterable<Uint8Array>),
	writeStream: (files, path, root) => writeAll(files.writeStream(path, {root}), 'new'),
	'writeStream, update': (files, path, root) => writeAll(files.writeStream(path, {root, offset: 1}), 'new'),
	digest: (files, path, root) => files.digest(path, {root, offset: 0, length: 4}),
};
const DIRECTORY_OPERATIONS: Record<string, Operation> = {
	createDirectory: (files, path, root) => files.createDirectory(join(path, 'new'), {root}),
	'createDirectory, one': (files, path, root) => files.createDirectory(join(path, 'new'), {root, recursive: false}),
	list: (files, path, root) => readAll(files.list(path, {root})),
	'list, names': (files, path, root) => readAll(files.list(path, {root, names: ['file']})),
	setAttributes: (files, path, root) => files.setAttributes(path, [{name: 'file', mode: 0o600}], {root}),
	unpack: async (files, path, root) => {
		const {stream} = await files.unpack(path, {root});
		await stream.abort();
	},
	'unpack, new': async (files, path, root) => {
		const {stream} = await files.unpack(join(path, 'new'), {root});
		await stream.abort();
	},
};

describe.each(['on this machine', 'over memory'])('an operation below a root %s', where => {
	const open = async () => (await LOCAL_AND_REMOTE[where]!()).files;

	test.each(Object.entries(OPERATIONS))('reaches a file by the link that is the root: %s', async (_, operate) => {
		const at = workspace();
		await operate(await open(), at('root', 'inside', 'file'), at('root'), at);
		expect(readFileSync(at('outside', 'file'), 'utf8')).toBe('outside');
	});

	test.each(Object.entries(DIRECTORY_OPERATIONS))('reaches a directory by it: %s', async (_, operate) => {
		const at = workspace();
		await expect(operate(await open(), at('root', 'inside'), at('root'), at)).resolves.not.toThrow();
	});

	test.each([...Object.entries(OPERATIONS), ...Object.entries(DIRECTORY_OPERATIONS)])(
		'refuses a link in the middle of the path: %s',
		async (name, operate) => {
			const at = workspace();
			const before = [describeTree(at('outside')), describeTree(at('real'))];
			const path = name in OPERATIONS ? at('root', 'link', 'file') : at('root', 'link');
			await expect(operate(await open(), path, at('root'), at)).rejects.toMatchObject({
				code: 'refused',
				detail: 'a link or a file is in the way of a directory',
			});
			expect([describeTree(at('outside')), describeTree(at('real'))]).toEqual(before);
		},
	);

	test.each(Object.entries(OPERATIONS).filter(([name]) => !/^re(?:move|name)/.test(name)))(
		'refuses a link at the end of the path: %s',
		async (_, operate) => {
			const at = workspace();
			const before = describeTree(at('outside'));
			await expect(operate(await open(), at('root', 'file-link'), at('root'), at)).rejects.toThrow(/symbolic link/i);
			expect(describeTree(at('outside'))).toEqual(before);
		},
	);

	test('removes and renames a link itself', async () => {
		const at = workspace();
		const files = await open();
		await files.rename(at('root', 'link'), at('root', 'inside', 'moved'), {root: at('root')});
		expect(lstatSync(at('real', 'inside', 'moved')).isSymbolicLink()).toBe(true);
		await files.remove(at('root', 'inside', 'moved'), {root: at('root')});
		await files.remove(at('root', 'file-link'), {root: at('root'), recursive: false});
		expect(readFileSync(at('outside', 'file'), 'utf8')).toBe('outside');
		expect(existsSync(at('real', 'file-link'))).toBe(false);
	});

	test.each([['outside', 'file'], ['real', 'file'], ['rootless'], ['root']])(
		'refuses a path that is not below the root: %s %s',
		async (...names) => {
			const at = workspace();
			await expect((await open()).readFile(at(...names), {root: at('root')})).rejects.toMatchObject({code: 'refused'});
		},
	);
});

test('an entry is reached in the directory that was opened, whatever becomes of its name', async () => {
	const at = workspace();
	const calls = preferredCalls();
	await withEntryBelow(calls, bytePath(at('root', 'inside', 'file')), bytePath(at('root')), async entry => {
		renameSync(at('real', 'inside'), at('real', 'was'));
		symlinkSync(at('outside'), at('real', 'inside'));
		await calls.unlink(entry);
	});
	expect(existsSync(at('real', 'was', 'file'))).toBe(false);
	expect(existsSync(at('outside', 'file'))).toBe(true);
});

test('a chain below a root stays in the directory that was opened', async () => {
	const at = workspace();
	const calls = preferredCalls();
	const chain = await openChainBelow(calls, bytePath(at('root', 'inside')), bytePath(at('root')));
	try {
		renameSync(at('real', 'inside'), at('real', 'was'));
		symlinkSync(at('outside'), at('real', 'inside'));
		linkSync(at('real', 'file'), join(chain.path, 'added'));
		unlinkSync(join(chain.path, 'file'));
	} finally {
		await chain.close();
	}
	expect(existsSync(at('real', 'was', 'added'))).toBe(true);
	expect(existsSync(at('outside', 'file'))).toBe(true);
});
