import {existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {beforeAll, describe, expect, test} from 'vitest';
import {listChildren, listDescendants} from '../../src/processes/tree/process-tree.js';
import {METHODS} from '../../src/protocol/methods/method-table.js';
import type {EnforcerName} from '../../src/sandbox/enforcer.js';
import {describeEnforcers, notWithLandlock, REFUSES_PROTECTION} from '../helpers/enforcers.js';
import {base64, uri} from '../helpers/files.js';
import {ownCommand} from '../helpers/own-command.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {at, glob, policy, root, special, workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {listRunningWith} from '../helpers/subreaper.js';
import {TestClient} from '../helpers/test-client.js';

const text = ({dataBase64}: {dataBase64: string | Uint8Array}) =>
	Buffer.from(dataBase64 as string, 'base64').toString();

const READ_ONLY = {code: -32603, message: 'Read-only file system (os error 30)'};
const NOT_FOUND = {code: -32004, message: 'No such file or directory (os error 2)'};
const NO_ATTRIBUTES = 'Landlock alone lets no mode, owner or time be changed';
const DENIED = {code: -32600, message: 'Permission denied (os error 13)'};

let command: readonly string[];
beforeAll(async () => {
	const built = await ownCommand();
	command = built.command;
	return built.remove;
});

/** A directory that may be written to, one that may not, and a client that says so with every call. */
async function scene(sandboxEnforcer: EnforcerName, entries: (base: string) => readonly object[] = () => []) {
	const base = scratchDirectory();
	for (const name of ['work', 'outside']) mkdirSync(join(base, name));
	// Landlock alone refuses to protect it below a writable directory.
	if (sandboxEnforcer !== 'landlock') mkdirSync(join(base, 'work/.git'));
	writeFileSync(join(base, 'work/in'), 'inside');
	writeFileSync(join(base, 'outside/out'), 'outside');
	symlinkSync(join(base, 'outside'), join(base, 'work/link'));
	const client = await TestClient.overMemory(execServer({ownCommand: command, sandboxEnforcer})).initialize();
	const {permissions, ...rest} = workspacePolicy(join(base, 'work'));
	const {file_system: files} = permissions;
	const sandbox = {
		...rest,
		permissions: {...permissions, file_system: {...files, entries: [...files.entries, ...entries(base)]}},
	};
	const call = <T = Record<string, unknown>>(method: string, params: object) =>
		client.call<T>(method, {...params, sandbox});
	return {base, client, call, sandbox};
}

/** The programs that do file operations in a sandbox for this process. */
function workers(): number[] {
	const programs = new Set(listRunningWith(command[1]!));
	return listChildren(process.pid).filter(
		pid => programs.has(pid) || listDescendants(pid).some(below => programs.has(below.pid)),
	);
}

describeEnforcers('a file operation in a sandbox', enforcer => {
	const protects = notWithLandlock(enforcer, REFUSES_PROTECTION);
	const outsideError = enforcer === 'landlock' ? DENIED : READ_ONLY;

	test(
		'does not write to metadata that the policy does not name, nor renames above what is protected',
		protects,
		async () => {
			const {base, client} = await scene(enforcer);
			mkdirSync(join(base, 'work/a/b/ro'), {recursive: true});
			const sandbox = policy([root('read'), at(join(base, 'work'), 'write'), at(join(base, 'work/a/b/ro'), 'read')]);
			const write = {path: uri(base, 'work/.git/config'), dataBase64: base64('x'), sandbox};
			await expect(client.call('fs/writeFile', write)).rejects.toMatchObject(READ_ONLY);
			for (const [from, to] of [
				['work/a', 'work/z'],
				['work/a/b', 'work/a/c'],
				['work/.git', 'work/git'],
			] as const) {
				const rename = {sourcePath: uri(base, from), destinationPath: uri(base, to), sandbox};
				await expect(client.call('fs/rename', rename)).rejects.toThrow(/busy/);
			}
		},
	);

	test('reads everywhere and writes inside, as the policy says', async () => {
		const {base, call} = await scene(enforcer);
		expect(text(await call('fs/readFile', {path: uri(base, 'outside/out')}))).toBe('outside');
		expect(await call('fs/writeFile', {path: uri(base, 'work/new'), dataBase64: base64('new')})).toEqual({});
		expect(readFileSync(join(base, 'work/new'), 'utf8')).toBe('new');
		expect(await call('fs/getMetadata', {path: uri(base, 'work/new')})).toMatchObject({isFile: true, size: 3});
		expect(await call('fs/canonicalize', {path: uri(base, 'work/link')})).toEqual({path: uri(base, 'outside')});
		const {entries} = await call<{entries: {fileName: string}[]}>('fs/readDirectory', {path: uri(base, 'work')});
		const names = entries.map(({fileName}) => fileName).filter(name => name !== '.git');
		expect(names.sort()).toEqual(['in', 'link', 'new']);
		await call('fs/createDirectory', {path: uri(base, 'work/a/b')});
		await call('fs/rename', {sourcePath: uri(base, 'work/new'), destinationPath: uri(base, 'work/a/moved')});
		await call('fs/remove', {path: uri(base, 'work/in')});
		expect(existsSync(join(base, 'work/a/moved'))).toBe(true);
		expect(existsSync(join(base, 'work/in'))).toBe(false);
	});

	test('copies into what it may write', notWithLandlock(enforcer, NO_ATTRIBUTES), async () => {
		const {base, call} = await scene(enforcer);
		await call('fs/copy', {sourcePath: uri(base, 'outside'), destinationPath: uri(base, 'work/c'), recursive: true});
		const options = {maxDepth: 3, maxDirectories: 10, maxEntries: 100, followDirectorySymlinks: false};
		expect(await call('fs/walk', {path: uri(base, 'work/c'), options})).toEqual({
			entries: [{path: uri(base, 'work/c/out'), kind: 'file'}],
			errors: [],
			truncated: false,
		});
	});

	test.each<[string, (base: string) => object]>([
		['fs/writeFile', base => ({path: uri(base, 'outside/new'), dataBase64: ''})],
		['fs/writeFile', base => ({path: uri(base, 'work/link/new'), dataBase64: ''})],
		['fs/writeFile', base => ({path: uri(base, 'outside/out'), dataBase64: '', atomic: true})],
		['fs/createDirectory', base => ({path: uri(base, 'outside/new')})],
		['fs/remove', base => ({path: uri(base, 'outside/out')})],
		[
			'fs/copy',
			base => ({sourcePath: uri(base, 'work/in'), destinationPath: uri(base, 'outside/new'), recursive: false}),
		],
		['fs/open', base => ({handleId: 'h', path: uri(base, 'outside/new'), mode: 'replace'})],
	])('cannot change what is outside: %s', async (method, params) => {
		const {base, call} = await scene(enforcer);
		await expect(call(method, params(base))).rejects.toMatchObject(outsideError);
		expect(existsSync(join(base, 'outside/new'))).toBe(false);
		expect(readFileSync(join(base, 'outside/out'), 'utf8')).toBe('outside');
	});

	test('does not write to metadata', protects, async () => {
		const {base, call} = await scene(enforcer);
		const write = call('fs/writeFile', {path: uri(base, 'work/.git/config'), dataBase64: ''});
		await expect(write).rejects.toMatchObject(READ_ONLY);
	});

	test('neither reads nor lists what is hidden, by a path or a glob', protects, async () => {
		const {base, call} = await scene(enforcer, place => [at(join(place, 'outside'), 'deny'), glob('**/*.env', 'deny')]);
		writeFileSync(join(base, 'work/a.env'), 'secret');
		await expect(call('fs/readFile', {path: uri(base, 'outside/out')})).rejects.toMatchObject(DENIED);
		await expect(call('fs/readDirectory', {path: uri(base, 'outside')})).rejects.toMatchObject(DENIED);
		await expect(call('fs/open', {handleId: 'h', path: uri(base, 'work/a.env')})).rejects.toMatchObject({code: -32600});
		await expect(call('fs/readFile', {path: uri(base, 'work/a.env')})).rejects.toMatchObject({code: -32600});
	});

	test('does not find what a view without the root does not show', async () => {
		const {base, client} = await scene(enforcer);
		const sandbox = policy([at(join(base, 'work'), 'write')]);
		const read = (path: string) => client.call('fs/readFile', {path, sandbox});
		const error = enforcer === 'landlock' ? DENIED : NOT_FOUND;
		await expect(read(uri(base, 'outside/out'))).rejects.toMatchObject(error);
		await expect(read('file:///etc/passwd')).rejects.toMatchObject(error);
		expect(await read(uri(base, 'work/in'))).toEqual({dataBase64: base64('inside')});
	});

	test('answers with the errors of the operation itself', async () => {
		const {base, call} = await scene(enforcer);
		await expect(call('fs/readFile', {path: uri(base, 'work/none')})).rejects.toMatchObject(NOT_FOUND);
		await expect(call('fs/readFile', {path: uri(base, 'work')})).rejects.toMatchObject({
			code: -32600,
			message: `path \`${join(base, 'work')}\` is not a file`,
		});
	});

	test('carries bulk both ways', async () => {
		const {base, call} = await scene(enforcer);
		const content = Buffer.alloc(3 * 1024 * 1024, 'longarm').toString('base64');
		await call('fs/writeFile', {path: uri(base, 'work/big'), dataBase64: content});
		expect(readFileSync(join(base, 'work/big')).toString('base64') === content).toBe(true);
		const {dataBase64} = await call<{dataBase64: string}>('fs/readFile', {path: uri(base, 'work/big')});
		expect(Buffer.from(dataBase64, 'base64').toString('base64') === content).toBe(true);
	});

	test('takes params by position', async () => {
		const {base, client, sandbox} = await scene(enforcer);
		const read = client.call('fs/readFile', [uri(base, 'work/in'), null, sandbox]);
		expect(await read).toEqual({dataBase64: base64('inside')});
	});

	test('writes through a link that is swapped all the time, and never gets outside', async () => {
		const {base, call} = await scene(enforcer);
		mkdirSync(join(base, 'work/inside'));
		const swap = (to: string): void => {
			symlinkSync(to, join(base, 'work/next'));
			renameSync(join(base, 'work/next'), join(base, 'work/swap'));
		};
		const outcomes = [];
		for (let round = 0; round < 300; round++) {
			swap(join(base, round % 2 === 0 ? 'outside' : 'work/inside'));
			outcomes.push(call('fs/writeFile', {path: uri(base, 'work/swap/new'), dataBase64: ''}).catch(() => undefined));
			if (round % 3 === 0) await new Promise(setImmediate);
		}
		await Promise.all(outcomes);
		expect(existsSync(join(base, 'outside/new'))).toBe(false);
	});
});

describeEnforcers('a handle of a sandbox', enforcer => {
	test('is read block by block, like any other', async () => {
		const {base, client, call} = await scene(enforcer);
		expect(await call('fs/open', {handleId: 'h', path: uri(base, 'outside/out')})).toEqual({handleId: 'h'});
		expect(await client.call('fs/readBlock', {handleId: 'h', offset: 3, len: 100})).toEqual({
			chunk: base64('side'),
			eof: true,
		});
		await expect(call('fs/open', {handleId: 'h', path: uri(base, 'work/in')})).rejects.toMatchObject({
			message: 'file handle `h` already exists',
		});
		const plain = client.call('fs/open', {handleId: 'h', path: uri(base, 'work/in')});
		await expect(plain).rejects.toMatchObject({message: 'file handle `h` already exists'});
		expect(await client.call('fs/close', {handleId: 'h'})).toEqual({});
		await expect(client.call('fs/readBlock', {handleId: 'h', offset: 0, len: 1})).rejects.toMatchObject({code: -32004});
	});

	test('is written block by block', async () => {
		const {base, client, call} = await scene(enforcer);
		await call('fs/open', {handleId: 'w', path: uri(base, 'work/new'), mode: 'replace'});
		await client.call('fs/writeBlock', {handleId: 'w', offset: 0, chunk: base64('hello ')});
		await client.call('fs/writeBlock', {handleId: 'w', offset: 6, chunk: base64('there')});
		await expect(client.call('fs/readBlock', {handleId: 'w', offset: 0, len: 1})).rejects.toMatchObject({
			code: -32603,
			message: 'Bad file descriptor (os error 9)',
		});
		await client.call('fs/close', {handleId: 'w'});
		expect(readFileSync(join(base, 'work/new'), 'utf8')).toMatch(/^hello there$/);
	});

	test('carries a whole tree out and in again', notWithLandlock(enforcer, NO_ATTRIBUTES), async () => {
		const {base, client, call} = await scene(enforcer);
		await call('fs/pack', {handleId: 'out', path: uri(base, 'outside')});
		const {chunk} = await client.call<{chunk: string}>('fs/readBlock', {handleId: 'out', offset: 0, len: 1024 * 1024});
		expect(await client.call('fs/finish', {handleId: 'out'})).toMatchObject({errors: []});
		await call('fs/unpack', {handleId: 'in', path: uri(base, 'work/tree')});
		await client.call('fs/writeBlock', {handleId: 'in', offset: 0, chunk});
		expect(await client.call('fs/finish', {handleId: 'in'})).toMatchObject({errors: []});
		expect(readFileSync(join(base, 'work/tree/out'), 'utf8')).toBe('outside');
	});

	test('fails alone when its sandbox is killed, and the next operation gets a new one', async () => {
		await eventually(() => workers().length === 0);
		const {base, client, call} = await scene(enforcer);
		await call('fs/open', {handleId: 'h', path: uri(base, 'work/in')});
		// One of an earlier test may have been too young to be seen above.
		for (const pid of workers()) {
			process.kill(pid, 'SIGKILL');
			await untilDead(pid);
			await eventually(() => !workers().includes(pid));
		}
		await expect(client.call('fs/readBlock', {handleId: 'h', offset: 0, len: 1})).rejects.toMatchObject({
			code: -32603,
			message: expect.stringContaining('fs sandbox ended') as unknown,
		});
		expect(await call('fs/readFile', {path: uri(base, 'work/in')})).toEqual({dataBase64: base64('inside')});
	});

	test('that is under way when its sandbox is killed has failed and was not refused', async () => {
		await eventually(() => workers().length === 0);
		const {base, call} = await scene(enforcer);
		writeFileSync(join(base, 'work/evil'), `${'a'.repeat(60)}!\n`);
		await call('fs/getMetadata', {path: uri(base, 'work')});
		const contents = {pattern: '(a+)+$', regex: true};
		const search = call('fs/search', {searchId: 's', path: uri(base, 'work'), contents});
		for (const pid of workers()) process.kill(pid, 'SIGKILL');
		await expect(search).rejects.toMatchObject({
			code: -32603,
			message: expect.stringContaining('fs sandbox ended') as unknown,
		});
	});
});

describeEnforcers('watches and searches in a sandbox', enforcer => {
	test('a watch tells of changes until it is ended', async () => {
		const {base, client, call} = await scene(enforcer);
		await call('fs/watch', {watchId: 'w', path: uri(base, 'work')});
		const again = client.call('fs/watch', {watchId: 'w', path: uri(base, 'work')});
		await expect(again).rejects.toMatchObject({message: 'watch `w` already exists'});
		writeFileSync(join(base, 'work/new'), '');
		const told = await client.until(() => client.events.find(({method}) => method === 'fs/changed'));
		expect(told.params).toMatchObject({watchId: 'w', changes: [{path: uri(base, 'work/new')}]});
		expect(await client.call('fs/unwatch', {watchId: 'w'})).toEqual({});
		await call('fs/watch', {watchId: 'w', path: uri(base, 'work')});
	});

	test('a search finds what the sandbox shows', notWithLandlock(enforcer, REFUSES_PROTECTION), async () => {
		const {base, client, call} = await scene(enforcer, place => [at(join(place, 'outside'), 'deny')]);
		const found = await call('fs/search', {searchId: 's', path: uri(base), contents: {pattern: 'side'}});
		expect(found).toMatchObject({matches: 1});
		const matches = client.events.filter(({method}) => method === 'fs/searchMatches');
		expect(matches.flatMap(({params}) => params['matches'])).toMatchObject([{path: uri(base, 'work/in')}]);
	});
});

describeEnforcers('the program in the sandbox', enforcer => {
	test('is shared by operations under one policy and ends with the connection', async () => {
		await eventually(() => workers().length === 0);
		const {base, client, call} = await scene(enforcer);
		await Promise.all([1, 2, 3].map(() => call('fs/getMetadata', {path: uri(base, 'work')})));
		const [pid, ...more] = workers();
		expect(more).toEqual([]);
		client.rpc.destroy();
		await untilDead(pid!);
		await eventually(() => listRunningWith(command[1]!).length === 0);
	});

	test('shows a directory that was replaced meanwhile', async () => {
		const {base, call} = await scene(enforcer);
		await call('fs/getMetadata', {path: uri(base, 'work/in')});
		rmSync(join(base, 'work'), {recursive: true});
		mkdirSync(join(base, 'work'));
		expect(await call('fs/writeFile', {path: uri(base, 'work/again'), dataBase64: ''})).toEqual({});
		expect(existsSync(join(base, 'work/again'))).toBe(true);
	});
});

describe('which policies need a sandbox', () => {
	const WITH_SANDBOX = Object.entries(METHODS).filter(
		([name, {params}]) => name.startsWith('fs/') && 'sandbox' in ((params as {entries?: object}).entries ?? {}),
	);

	test.each(WITH_SANDBOX.map(([name]) => name))('%s is not done without one that was asked for', async method => {
		const client = await TestClient.overMemory(execServer()).initialize();
		const path = uri(scratchDirectory(), 'x');
		const params = {
			path,
			sourcePath: path,
			destinationPath: path,
			dataBase64: '',
			recursive: false,
			handleId: 'h',
			watchId: 'w',
			searchId: 's',
			offset: 0,
			length: 1,
			entries: [],
			options: {maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false},
			sandbox: policy([root('read')]),
		};
		await expect(client.call(method, params)).rejects.toMatchObject({
			code: -32600,
			message: 'sandboxed filesystem operations require configured runtime paths',
		});
	});

	test('one that restricts nothing does not', async () => {
		const client = await TestClient.overMemory(execServer()).initialize();
		const directory = scratchDirectory();
		for (const sandbox of [
			{permissions: {type: 'disabled'}, windowsSandboxLevel: 'disabled'},
			{permissions: {type: 'external', network: 'restricted'}, windowsSandboxLevel: 'disabled'},
			policy([root('write')]),
		]) {
			expect(await client.call('fs/getMetadata', {path: uri(directory), sandbox})).toMatchObject({isDirectory: true});
		}
	});

	test('one that cannot be enforced, or lacks a directory, is an error', async () => {
		const client = await TestClient.overMemory(execServer({ownCommand: command})).initialize();
		const read = (entry: object) =>
			client.call('fs/readFile', {path: 'file:///etc/hostname', sandbox: policy([entry as Record<string, unknown>])});
		await expect(read(special({kind: 'unknown', path: ':x'}, 'read'))).rejects.toMatchObject({
			code: -32600,
			message: 'filesystem sandbox cannot be enforced on this executor: it does not know the special path `:x`',
		});
		await expect(read(special({kind: 'project_roots'}, 'read'))).rejects.toMatchObject({
			code: -32602,
			message: 'file system sandbox context with dynamic permissions requires cwd',
		});
	});
});
