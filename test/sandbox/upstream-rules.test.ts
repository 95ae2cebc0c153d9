// The same steps against every enforcer of ours and, in `npm run test:interop`, against the stock codex server.
import {existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import type {RpcError} from '../../src/protocol/wire/error-codes.js';
import {describeEnforcers, REFUSES_PROTECTION} from '../helpers/enforcers.js';
import {base64, uri} from '../helpers/files.js';
import {unless} from '../helpers/needs.js';
import {ownCommand} from '../helpers/own-command.js';
import {at, type Entry, noSandbox, policy, root, special} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';
import {startUpstreamServer} from '../helpers/transports.js';

const codex = process.env['CODEX_BIN'];
const noStock = codex ? noSandbox('bubblewrap') : 'CODEX_BIN names no stock codex';
const NO_PRIVATE_DIRECTORIES = 'Landlock alone works on the files of the host: nothing is private';

const PLATFORM = special({kind: 'minimal'}, 'read');

/** Starts a server with this TMPDIR of its own and connects to it. */
type Serve = (temporaryDirectory: string) => Promise<TestClient>;

let command: readonly string[];
beforeAll(async () => {
	const built = await ownCommand();
	command = built.command;
	return built.remove;
});

describeEnforcers('a sandbox', sandboxEnforcer => {
	const isLandlock = sandboxEnforcer === 'landlock';
	const serve: Serve = TMPDIR => {
		const variables = {...process.env, TMPDIR};
		return TestClient.overMemory(execServer({ownCommand: command, variables, sandboxEnforcer})).initialize();
	};
	defineTemporaryDirectories(serve, isLandlock);
	defineDenials(serve, isLandlock);
	definePrivateDirectory(serve, isLandlock);

	test('shows file operations no private directory, whose files would be lost', async () => {
		const client = await serve(scratchDirectory());
		const name = `/tmp/longarm-lost-${process.pid}`;
		const written = client.call('fs/writeFile', {path: uri(name), dataBase64: '', sandbox: policy([PLATFORM])});
		await expect(written).rejects.toThrow(/os error (2|13|30)\)$/);
		expect(existsSync(name)).toBe(false);
	});
});

const serveStock: Serve = async TMPDIR =>
	(await TestClient.overWebSocket(await startUpstreamServer(codex!, {TMPDIR}))).initialize();

describe('a sandbox of the stock codex server', unless(noStock), () => {
	defineTemporaryDirectories(serveStock, false);
	defineDenials(serveStock, false);
	definePrivateDirectory(serveStock, false);
});

interface TemporaryCase {
	readonly name: string;
	readonly env?: Record<string, string>;
	readonly inherit?: {readonly exclude?: readonly string[]; readonly set?: Record<string, string>};
	readonly cwd?: string;
	readonly named?: readonly string[];
	readonly writable: readonly string[];
}

/** Places by their names: the server's TMPDIR, one a process is given, and one that only the policy names. */
function preparePlaces(): string {
	const base = realpathSync(scratchDirectory());
	for (const name of ['server', 'child', 'named', 'work', 'work/relative']) mkdirSync(join(base, name));
	writeFileSync(join(base, 'file'), '');
	symlinkSync('child', join(base, 'link'));
	return base;
}

function listCases(base: string): TemporaryCase[] {
	return [
		{name: 'without TMPDIR is none', writable: []},
		{name: 'is TMPDIR of its variables', env: {TMPDIR: join(base, 'child')}, writable: ['child']},
		{name: 'is nothing if TMPDIR is empty', env: {TMPDIR: ''}, writable: []},
		{name: 'is nothing if TMPDIR is a file', env: {TMPDIR: join(base, 'file')}, writable: []},
		{name: 'is nothing if TMPDIR does not exist', env: {TMPDIR: join(base, 'gone')}, writable: []},
		{name: 'is what a link leads to', env: {TMPDIR: join(base, 'link')}, writable: ['child']},
		{
			name: 'is relative to its working directory',
			env: {TMPDIR: 'relative'},
			cwd: join(base, 'work'),
			writable: ['work/relative'],
		},
		{name: 'is TMPDIR of the server if it is inherited', inherit: {}, writable: ['server']},
		{name: 'is none if TMPDIR is excluded', inherit: {exclude: ['TMP*']}, writable: []},
		{name: 'is the TMPDIR that is set', inherit: {set: {TMPDIR: join(base, 'child')}}, writable: ['child']},
		{
			name: 'is TMPDIR of the request before an inherited one',
			inherit: {},
			env: {TMPDIR: join(base, 'child')},
			writable: ['child'],
		},
		{name: 'is none of those the policy names', named: [join(base, 'named')], writable: []},
		{name: 'is no other variable', env: {TMP: join(base, 'child'), TEMP: join(base, 'child')}, writable: []},
	];
}

function defineTemporaryDirectories(serve: Serve, isLandlock: boolean): void {
	describe('lets a process write to its directory for temporary files, which', () => {
		test.each(listCases('').map(({name}, index) => [name, index] as const))('%s', async (_, index) => {
			const base = preparePlaces();
			const {env = {}, inherit, cwd = '/', named, writable} = listCases(base)[index]!;
			const client = await serve(join(base, 'server'));
			const entries = [root('read'), special({kind: 'tmpdir'}, 'write')];
			const places = ['server', 'child', 'named', 'work/relative'];
			const script = places.map(place => `(echo > ${join(base, place)}/new) && echo ${place}`).join('; ');
			await client.sh('p', `${script}; (echo > ${base}/file) && echo file`, {
				cwd: uri(cwd),
				env: {PATH: process.env['PATH'], ...env},
				envPolicy: inherit && {
					inherit: 'all',
					ignoreDefaultExcludes: false,
					exclude: [],
					set: {},
					includeOnly: [],
					...inherit,
				},
				sandbox: policy(entries, named && {temporaryDirectories: named.map(path => uri(path))}),
			});
			const {stdout} = await client.done('p');
			expect(stdout.split('\n').filter(Boolean)).toEqual(writable);
			expect(places.filter(place => existsSync(join(base, place, 'new')))).toEqual(writable);
		});
	});

	test('lets file operations write to the TMPDIR of the server, and to none the policy names', async () => {
		const base = preparePlaces();
		const client = await serve(join(base, 'server'));
		const entries = [root('read'), special({kind: 'tmpdir'}, 'write')];
		const sandbox = policy(entries, {temporaryDirectories: [uri(base, 'named')]});
		const write = (place: string) =>
			client.call('fs/writeFile', {path: uri(base, place, 'new'), dataBase64: base64('x'), sandbox});
		expect(await write('server')).toEqual({});
		await expect(write('named')).rejects.toThrow(/os error (13|30)\)$/);
		expect(existsSync(join(base, 'named/new'))).toBe(false);
	});

	test(
		'hides TMPDIR of a process if the policy denies it',
		unless(isLandlock ? REFUSES_PROTECTION : undefined),
		async () => {
			const base = preparePlaces();
			writeFileSync(join(base, 'child/key'), 'secret');
			const client = await serve(join(base, 'server'));
			const sandbox = policy([root('read'), special({kind: 'tmpdir'}, 'deny')]);
			const env = {PATH: process.env['PATH'], TMPDIR: join(base, 'child')};
			await client.sh('p', `cat ${base}/child/key`, {env, sandbox});
			const {stdout, stderr} = await client.done('p');
			expect(stdout).toBe('');
			expect(stderr).toContain('Permission denied');
		},
	);
}

const DENIED = '-32600 Permission denied (os error 13)';
const READ_ONLY = '-32603 Read-only file system (os error 30)';
const BUSY = '-32603 Resource busy (os error 16)';
const IS_DIRECTORY = '-32603 Is a directory (os error 21)';
const EXISTS = '-32603 File exists (os error 17)';

const WALK = {maxDepth: 3, maxDirectories: 10, maxEntries: 100, followDirectorySymlinks: false};

/** Calls that change nothing, each about a path. */
const READS: Record<string, (path: string) => [method: string, params: object]> = {
	getMetadata: path => ['fs/getMetadata', {path}],
	'getMetadata, no links': path => ['fs/getMetadata', {path, followSymlinks: false}],
	readFile: path => ['fs/readFile', {path}],
	'readFile, no links': path => ['fs/readFile', {path, followSymlinks: false}],
	'open to read': path => ['fs/open', {path, handleId: 'read', mode: 'read'}],
	canonicalize: path => ['fs/canonicalize', {path}],
	readDirectory: path => ['fs/readDirectory', {path}],
	walk: path => ['fs/walk', {path, options: WALK}],
	'copy from': path => ['fs/copy', {sourcePath: path, destinationPath: `${path}-copy`, recursive: true}],
};

const WRITES: typeof READS = {
	'copy to': path => ['fs/copy', {sourcePath: path.replace(/[^/]*$/, 'open'), destinationPath: path, recursive: false}],
	writeFile: path => ['fs/writeFile', {path, dataBase64: ''}],
	'writeFile, no links': path => ['fs/writeFile', {path, dataBase64: '', followSymlinks: false}],
	'open to replace': path => ['fs/open', {path, handleId: 'replace', mode: 'replace'}],
	createDirectory: path => ['fs/createDirectory', {path, recursive: true}],
	'createDirectory, one': path => ['fs/createDirectory', {path, recursive: false}],
	remove: path => ['fs/remove', {path, recursive: false, force: false}],
	'remove all': path => ['fs/remove', {path, recursive: true, force: true}],
};

const isFile = {isDirectory: false, isFile: true, isSymlink: false};
const isDirectory = {isDirectory: true, isFile: false, isSymlink: false};

function defineDenials(serve: Serve, isLandlock: boolean): void {
	/** A denied file, a denied directory and files beside them, and answers to calls about these. */
	const prepare = async (access: 'read' | 'write', denied: readonly string[]) => {
		const base = realpathSync(scratchDirectory());
		const work = join(base, 'work');
		for (const name of ['', 'dir', 'other']) mkdirSync(join(work, name));
		for (const name of ['secret', 'second', 'open', 'dir/inner']) writeFileSync(join(work, name), 'secret');
		symlinkSync('secret', join(work, 'link'));
		const client = await serve(scratchDirectory());
		const entries: Entry[] = [root('read'), at(work, access), ...denied.map(name => at(join(work, name), 'deny'))];
		const sandbox = policy(entries, {cwd: uri(base)});
		const answer = async (calls: typeof READS, name: string): Promise<Record<string, unknown>> => {
			const answers: Record<string, unknown> = {};
			for (const [title, toCall] of Object.entries(calls)) {
				const [method, params] = toCall(uri(work, name));
				answers[title] = await client
					.call(method, {...params, sandbox})
					.then(omitTimes, ({code, message}: RpcError) => `${code} ${message}`);
			}
			return answers;
		};
		return {work, client, sandbox, answer};
	};

	test('shows a denied file as one that cannot be read', async () => {
		const {work, client, sandbox, answer} = await prepare('read', ['secret', 'second']);
		for (const name of ['secret', 'second']) {
			const {getMetadata, ...reads} = await answer(READS, name);
			expect(getMetadata).toMatchObject(isFile);
			expect(reads).toMatchObject({
				readFile: DENIED,
				'readFile, no links': DENIED,
				'open to read': DENIED,
				canonicalize: {path: uri(work, name)},
				'copy from': DENIED,
			});
		}
		await client.sh('p', `cd ${work}; test -f secret && echo file; cat secret`, {sandbox});
		expect(await client.done('p')).toMatchObject({stdout: 'file\n', stderr: 'cat: secret: Permission denied\n'});
	});

	const protects = unless(isLandlock ? REFUSES_PROTECTION : undefined);
	test('answers every call about a denied file with one code and text', protects, async () => {
		const {work, answer} = await prepare('write', ['secret', 'second', 'dir']);
		const expected = {
			getMetadata: {...isFile, size: 0},
			'getMetadata, no links': {...isFile, size: 0},
			readFile: DENIED,
			'readFile, no links': DENIED,
			'open to read': DENIED,
			canonicalize: {path: uri(work, 'secret')},
			readDirectory: '-32603 Not a directory (os error 20)',
			walk: {entries: [], errors: [], truncated: false},
			'copy from': DENIED,
			'copy to': READ_ONLY,
			writeFile: READ_ONLY,
			'writeFile, no links': DENIED,
			'open to replace': READ_ONLY,
			createDirectory: EXISTS,
			'createDirectory, one': EXISTS,
			remove: BUSY,
			'remove all': BUSY,
		};
		expect(await answer({...READS, ...WRITES}, 'secret')).toEqual(expected);
		expect(readFileSync(join(work, 'secret'), 'utf8')).toBe('secret');
		expect(await answer({getMetadata: READS['getMetadata']!, writeFile: WRITES['writeFile']!}, 'link')).toEqual({
			getMetadata: {...isFile, isSymlink: true, size: 0},
			writeFile: READ_ONLY,
		});
	});

	test('answers every call about a denied directory, and in it, with one code and text', protects, async () => {
		const {work, answer} = await prepare('write', ['secret', 'dir']);
		expect(await answer({...READS, ...WRITES}, 'dir')).toEqual({
			getMetadata: {...isDirectory, size: expect.any(Number) as number},
			'getMetadata, no links': {...isDirectory, size: expect.any(Number) as number},
			readFile: DENIED,
			'readFile, no links': DENIED,
			'open to read': DENIED,
			canonicalize: {path: uri(work, 'dir')},
			readDirectory: DENIED,
			walk: {
				entries: [],
				errors: [{path: uri(work, 'dir'), message: 'Permission denied (os error 13)'}],
				truncated: false,
			},
			'copy from': DENIED,
			'copy to': IS_DIRECTORY,
			writeFile: IS_DIRECTORY,
			'writeFile, no links': IS_DIRECTORY,
			'open to replace': IS_DIRECTORY,
			createDirectory: {},
			'createDirectory, one': EXISTS,
			remove: BUSY,
			'remove all': DENIED,
		});
		const {'copy to': _, ...writes} = WRITES;
		const calls = {...READS, ...writes};
		const all = Object.fromEntries(Object.keys(calls).map(name => [name, DENIED]));
		expect(await answer(calls, 'dir/inner')).toEqual(all);
		expect(await answer(calls, 'dir/new')).toEqual(all);
		expect(readFileSync(join(work, 'dir/inner'), 'utf8')).toBe('secret');
	});
}

function omitTimes(answer: Record<string, unknown>): Record<string, unknown> {
	const {createdAtMs: _, modifiedAtMs: __, ...rest} = answer;
	return rest;
}

/** Upstream has an empty file system in memory, in which `/tmp` can be made; ours has it made already. */
const useTmp = (name: string) =>
	`mkdir -p /tmp; ls /tmp/${name} 2>/dev/null; echo own > /tmp/${name} && cat /tmp/${name}`;

function definePrivateDirectory(serve: Serve, isLandlock: boolean): void {
	test(
		'that shows the platform only has a /tmp of its own, which no other process sees',
		unless(isLandlock ? NO_PRIVATE_DIRECTORIES : undefined),
		async () => {
			const hosts = scratchDirectory();
			writeFileSync(join(hosts, 'file'), 'of the host');
			const name = `longarm-private-${process.pid}`;
			const client = await serve(scratchDirectory());
			for (const id of ['first', 'second']) {
				await client.sh(id, useTmp(name), {cwd: 'file:///', sandbox: policy([PLATFORM])});
				expect(await client.done(id)).toMatchObject({exitCode: 0, stdout: 'own\n'});
			}
			expect(existsSync(`/tmp/${name}`)).toBe(false);
			await client.sh('third', `cat ${hosts}/file`, {cwd: 'file:///', sandbox: policy([PLATFORM])});
			expect((await client.done('third')).stdout).toBe('');
		},
	);

	test('that shows the platform and something below /tmp lets nothing else there be seen', async () => {
		const base = realpathSync(scratchDirectory());
		mkdirSync(join(base, 'work'));
		for (const name of ['work/in', 'file']) writeFileSync(join(base, name), 'of the host');
		const client = await serve(scratchDirectory());
		const sandbox = policy([PLATFORM, at(join(base, 'work'), 'write')]);
		await client.sh('p', `cd ${base}; cat file; cat work/in; echo > work/new; echo > new`, {cwd: 'file:///', sandbox});
		expect((await client.done('p')).stdout).toBe('of the host');
		expect(['work/new', 'new'].map(name => existsSync(join(base, name)))).toEqual([true, false]);
	});

	test('that denies /tmp has none', async () => {
		const client = await serve(scratchDirectory());
		const sandbox = policy([PLATFORM, at('/tmp', 'deny')]);
		await client.sh('p', 'echo x > /tmp/new; ls /tmp', {cwd: 'file:///', sandbox});
		expect((await client.done('p')).stdout).toBe('');
	});

	test('never makes the platform writable', async () => {
		const name = `/usr/longarm-written-${process.pid}`;
		onTestFinished(() => rmSync(name, {force: true}));
		const client = await serve(scratchDirectory());
		const sandbox = policy([special({kind: 'minimal'}, 'write')]);
		await client.sh('p', `echo > ${name}`, {cwd: 'file:///', sandbox});
		expect((await client.done('p')).stderr).toMatch(/Read-only file system|Permission denied/);
		expect(existsSync(name)).toBe(false);
	});
}
