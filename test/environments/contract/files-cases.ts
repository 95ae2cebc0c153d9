import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Files} from '../../../src/client/files/files.js';
import {toSandboxContext} from '../../../src/client/run/sandbox-policy.js';
import {type Bench, type ContractCases, collect} from './bench.js';

interface Tree extends Bench {
	readonly files: Files;
	readonly file: string;
	readonly missing: string;
}

/** A small tree: `file`, `link` to it, and `folder/inner`. */
const inTree =
	(use: (tree: Tree) => unknown) =>
	(bench: Bench): unknown => {
		const {directory, environment} = bench;
		const file = join(directory, 'file');
		writeFileSync(file, 'content\n', {mode: 0o640});
		mkdirSync(join(directory, 'folder'));
		writeFileSync(join(directory, 'folder/inner'), 'needle\n');
		symlinkSync('file', join(directory, 'link'));
		return use({...bench, files: environment.files, file, missing: join(directory, 'missing/file')});
	};

const readOnly = (directory: string) => toSandboxContext('read-only', `file://${directory}`);

async function write(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
	const writer = stream.getWriter();
	await writer.write(new TextEncoder().encode(text));
	await writer.close();
}

const text = async (stream: ReadableStream<Uint8Array>): Promise<string> =>
	new TextDecoder().decode(Buffer.concat(await collect(stream)));

export const FILES_CASES: ContractCases<keyof Files> = {
	supports: {all: ({environment}) => environment.files.supports('atomicWrite')},
	readFile: {
		content: inTree(({files, file}) => files.readFile(file)),
		missing: inTree(({files, missing}) => files.readFile(missing)),
		directory: inTree(({files, directory}) => files.readFile(directory)),
		relative: inTree(({files}) => files.readFile('relative/path')),
		'no links': inTree(({files, directory}) => files.readFile(join(directory, 'link'), {followSymlinks: false})),
		sandboxed: inTree(async ({files, file, directory}) => files.readFile(file, {sandbox: readOnly(directory)})),
		large: inTree(async ({files, directory}) => {
			const path = join(directory, 'large');
			await files.writeFile(path, 'x'.repeat(50 * 1024 * 1024));
			return (await files.readFile(path)).length;
		}),
		'after close': inTree(async ({environment, files, file}) => {
			await environment.close();
			return files.readFile(file);
		}),
	},
	readText: {
		text: inTree(({files, file}) => files.readText(file)),
		missing: inTree(({files, missing}) => files.readText(missing)),
	},
	writeFile: {
		new: inTree(async ({files, directory}) => {
			await files.writeFile(join(directory, 'new'), 'text');
			return files.readText(join(directory, 'new'));
		}),
		parents: inTree(async ({files, missing}) => {
			await files.writeFile(missing, 'text', {recursive: true});
			return files.readText(missing);
		}),
		'missing parent': inTree(({files, missing}) => files.writeFile(missing, 'text')),
		'parent is a file': inTree(({files, file}) => files.writeFile(join(file, 'below'), 'text', {recursive: true})),
		atomic: inTree(({files, file}) => files.writeFile(file, 'text', {atomic: true})),
		sandboxed: inTree(async ({files, file, directory}) =>
			files.writeFile(file, 'text', {sandbox: readOnly(directory)}),
		),
		'unknown option': inTree(({files, file}) => files.writeFile(file, '', {parents: true} as never)),
		'after close': inTree(async ({environment, files, file}) => {
			await environment.close();
			return files.writeFile(file, '');
		}),
	},
	createDirectory: {
		deep: inTree(({files, missing}) => files.createDirectory(missing)),
		'not recursive': inTree(({files, missing}) => files.createDirectory(missing, {recursive: false})),
		existing: inTree(({files, file}) => files.createDirectory(file)),
	},
	metadata: {
		file: inTree(({files, file}) => files.metadata(file)),
		directory: inTree(async ({files, directory}) => ({...(await files.metadata(directory)), size: 0})),
		link: inTree(({files, directory}) => files.metadata(join(directory, 'link'))),
		missing: inTree(({files, missing}) => files.metadata(missing)),
		sandboxed: inTree(async ({files, file, directory}) => files.metadata(file, {sandbox: readOnly(directory)})),
	},
	canonicalize: {
		link: inTree(({files, directory}) => files.canonicalize(join(directory, 'link'))),
		missing: inTree(({files, missing}) => files.canonicalize(missing)),
	},
	readDirectory: {
		entries: inTree(async ({files, directory}) => sorted(await files.readDirectory(directory), 'fileName')),
		file: inTree(({files, file}) => files.readDirectory(file)),
		sandboxed: inTree(async ({files, directory}) =>
			sorted(await files.readDirectory(directory, {sandbox: readOnly(directory)}), 'fileName'),
		),
	},
	walk: {
		tree: inTree(async ({files, directory}) => {
			const {entries, ...rest} = await files.walk(directory);
			return {entries: sorted(entries, 'path'), ...rest};
		}),
		missing: inTree(({files, missing}) => files.walk(missing)),
	},
	remove: {
		tree: inTree(({files, directory}) => files.remove(join(directory, 'folder'))),
		missing: inTree(({files, missing}) => files.remove(missing, {force: false})),
		full: inTree(({files, directory}) => files.remove(join(directory, 'folder'), {recursive: false})),
	},
	stat: {file: inTree(({files, file}) => files.stat(file)), missing: inTree(({files, missing}) => files.stat(missing))},
	exists: {
		both: inTree(async ({files, file, missing}) => [await files.exists(file), await files.exists(missing)]),
		'below a file': inTree(({files, file}) => files.exists(join(file, 'x'))),
		'after close': inTree(async ({environment, files, file}) => {
			await environment.close();
			return files.exists(file);
		}),
	},
	readdir: {entries: inTree(async ({files, directory}) => sorted(await files.readdir(directory), 'fileName'))},
	mkdir: {
		new: inTree(({files, directory}) => files.mkdir(join(directory, 'new'))),
		existing: inTree(({files, directory}) => files.mkdir(directory)),
	},
	rm: {
		file: inTree(({files, file}) => files.rm(file)),
		missing: inTree(({files, missing}) => files.rm(missing)),
		full: inTree(({files, directory}) => files.rm(join(directory, 'folder'))),
	},
	copy: {
		file: inTree(({files, file, directory}) => files.copy(file, join(directory, 'copy'))),
		directory: inTree(({files, directory}) => files.copy(join(directory, 'folder'), join(directory, 'copy'))),
		missing: inTree(({files, missing, directory}) => files.copy(missing, join(directory, 'copy'))),
	},
	rename: {
		file: inTree(({files, file, directory}) => files.rename(file, join(directory, 'new'))),
		existing: inTree(({files, file, directory}) => files.rename(join(directory, 'folder/inner'), file)),
		missing: inTree(({files, missing, directory}) => files.rename(missing, join(directory, 'new'))),
	},
	readStream: {
		content: inTree(({files, file}) => text(files.readStream(file))),
		offset: inTree(({files, file}) => text(files.readStream(file, {offset: 3}))),
		missing: inTree(({files, missing}) => text(files.readStream(missing))),
		sandboxed: inTree(async ({files, file, directory}) => text(files.readStream(file, {sandbox: readOnly(directory)}))),
	},
	writeStream: {
		content: inTree(async ({files, file}) => {
			await write(files.writeStream(file), 'streamed');
			return files.readText(file);
		}),
		missing: inTree(({files, missing}) => write(files.writeStream(missing), 'x')),
	},
	watch: {
		change: inTree(async ({files, directory}) => {
			const watch = await files.watch(directory);
			await files.writeFile(join(directory, 'new'), 'x');
			const next = await watch.next();
			await watch.return?.();
			return next.done ? 'ended' : next.value.changes.map(({path}) => path);
		}),
		missing: inTree(({files, missing}) => files.watch(missing)),
	},
	watchMissing: {
		appears: inTree(async ({files, directory}) => {
			const watch = await files.watchMissing([join(directory, 'later')]);
			await files.writeFile(join(directory, 'later'), '');
			return watch.watching && watch.changed;
		}),
		exists: inTree(({files, file}) => files.watchMissing([file])),
	},
	search: {
		contents: inTree(({files, directory}) => collect(files.search({path: directory, contents: {pattern: 'needle'}}))),
		outcome: inTree(async ({files, directory}) => {
			const search = files.search({path: directory, names: ['*er']});
			return [await collect(search), await search.outcome];
		}),
		missing: inTree(({files, missing}) => collect(files.search({path: missing}))),
		'wrong expression': inTree(({files, directory}) =>
			collect(files.search({path: directory, contents: {pattern: '(', regex: true}})),
		),
		sandboxed: inTree(async ({files, directory}) =>
			collect(files.search({path: directory, contents: {pattern: 'needle'}, sandbox: readOnly(directory)})),
		),
	},
	list: {
		tree: inTree(async ({files, directory}) =>
			(await collect(files.list(directory))).map(({name, kind}) => ({name, kind})),
		),
		missing: inTree(({files, missing}) => collect(files.list(missing))),
	},
	digest: {
		range: inTree(({files, file}) => files.digest(file, {offset: 0, length: 100})),
		missing: inTree(({files, missing}) => files.digest(missing, {offset: 0, length: 1})),
	},
	setAttributes: {
		mode: inTree(async ({files, directory}) => {
			const errors = await files.setAttributes(directory, [
				{name: 'file', mode: 0o600},
				{name: 'none', mode: 0o600},
			]);
			const [entry] = await collect(files.list(directory, {names: ['file']}));
			return {errors, mode: entry && 'mode' in entry && entry.mode};
		}),
	},
	pack: {
		tree: inTree(async ({files, directory}) => {
			const {totals, stream, outcome} = await files.pack(join(directory, 'folder'));
			const bytes = Buffer.concat(await collect(stream));
			return {totals, size: bytes.length, outcome: {...(await outcome), sha256: '<differs with the times>'}};
		}),
		missing: inTree(({files, missing}) => files.pack(missing)),
	},
	unpack: {
		'packed tree': inTree(async ({files, directory}) => {
			const {stream} = await files.pack(join(directory, 'folder'));
			const target = await files.unpack(join(directory, 'unpacked'));
			await stream.pipeTo(target.stream);
			await target.outcome;
			return files.readText(join(directory, 'unpacked/inner'));
		}),
		nonsense: inTree(async ({files, directory}) => {
			const {stream, outcome} = await files.unpack(join(directory, 'unpacked'));
			await write(stream, 'x'.repeat(1024)).catch(() => {});
			return outcome;
		}),
	},
};

function sorted<T>(entries: readonly T[], member: keyof T): T[] {
	return [...entries].sort((one, other) => String(one[member]).localeCompare(String(other[member])));
}
