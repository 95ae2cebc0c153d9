import {spawn} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {StdioTransport} from '../../src/transports/node/stdio.js';
import {Command, PROGRAM} from '../helpers/command.js';
import {base64, bytes, uri} from '../helpers/files.js';
import {needs, needsRoot} from '../helpers/needs.js';
import {refusal} from '../helpers/process-api.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';

const SECRET = 'a-secret-of-the-server';
const SERVE = ['serve', '--listen', 'stdio', '--log-level', 'warn'];
/** Of the file system, or of the user where the server is not root's. */
const REFUSED = {code: -32600, message: expect.stringContaining('Permission denied') as string};

interface Served {
	readonly client: TestClient;
	readonly pid: number;
}

async function serveStdio(): Promise<Served> {
	const command = new Command(SERVE, {ownStdout: true, env: {OF_THE_SERVER: `\n${SECRET}\n`}});
	const transport = new StdioTransport(command.child.stdout, command.child.stdin);
	return {client: await new TestClient(transport).initialize(), pid: command.pid};
}

/** Every way to a file of the server's own entries in /proc. */
function waysTo(name: string, {pid}: Served, scratch: string): string[] {
	const threads = readdirSync(`/proc/${pid}/task`);
	const thread = threads.find(each => Number(each) !== pid)!;
	const link = (path: string): string => {
		const at = join(scratch, `link-${readdirSync(scratch).length}`);
		symlinkSync(path, at);
		return at;
	};
	return [
		`/proc/self/${name}`,
		`/proc/thread-self/${name}`,
		`/proc/${pid}/${name}`,
		`/proc/${thread}/${name}`,
		`/proc/${pid}/task/${thread}/${name}`,
		`/proc/self/root/proc/self/${name}`,
		`/proc/1/root/proc/${pid}/${name}`,
		link(`/proc/self/${name}`),
		join(link('/proc/self'), name),
		join(link('/proc'), String(pid), name),
	];
}

/** Calls that read or write content, with a path each. */
const CONTENT_CALLS: Record<string, (path: string, at: (name: string) => string) => [string, object]> = {
	read: path => ['fs/readFile', {path}],
	'read without links': path => ['fs/readFile', {path, followSymlinks: false}],
	'read below a root': path => ['fs/readFile', {path, root: 'file:///'}],
	open: path => ['fs/open', {handleId: 'h', path}],
	'open to replace': path => ['fs/open', {handleId: 'h', path, mode: 'replace'}],
	'open to update': path => ['fs/open', {handleId: 'h', path, mode: 'update'}],
	write: path => ['fs/writeFile', {path, dataBase64: base64('x')}],
	'write atomically': path => ['fs/writeFile', {path, dataBase64: base64('x'), atomic: true}],
	digest: path => ['fs/digest', {path, offset: 0, length: 100}],
	watch: path => ['fs/watch', {watchId: 'w', path}],
	search: path => ['fs/search', {searchId: 's', path, contents: {pattern: 'secret'}}],
	metadata: path => ['fs/getMetadata', {path}],
	canonicalize: path => ['fs/canonicalize', {path}],
	copy: (path, at) => ['fs/copy', {sourcePath: path, destinationPath: uri(at('copy')), recursive: true}],
};

test('no file method shows the environment and memory of the server, whichever way leads there', async () => {
	const served = await serveStdio();
	const scratch = scratchDirectory();
	const accepted: string[] = [];
	for (const name of ['environ', 'mem', 'maps']) {
		for (const path of waysTo(name, served, scratch)) {
			for (const [what, params] of Object.entries(CONTENT_CALLS)) {
				const [method, request] = params(uri(path), each => join(scratch, each));
				const answer = await served.client.call(method, request).catch((error: Error) => error);
				// A link copied as a link shows nothing: what it leads to is refused when it is read.
				if (!(answer instanceof Error) && !(what === 'copy' && path.startsWith(scratch))) {
					accepted.push(`${what} ${path}: ${JSON.stringify(answer)}`);
				}
			}
		}
	}
	expect(accepted).toEqual([]);
	expect(await refusal(served.client.call('fs/readFile', {path: uri('/proc/self/environ')}))).toMatchObject(REFUSED);
});

test('a walk, a listing, a search and an archive of /proc leave the entries of the server out', async () => {
	const served = await serveStdio();
	const {client, pid} = served;
	const scratch = scratchDirectory();
	symlinkSync(`/proc/${pid}`, join(scratch, 'own'));
	for (const directory of [`/proc/${pid}`, '/proc/self', `/proc/self/fd`, `/proc/${pid}/task`, join(scratch, 'own')]) {
		const path = uri(directory);
		expect(await refusal(client.call('fs/readDirectory', {path}))).toMatchObject(REFUSED);
		const options = {maxDepth: 2, maxDirectories: 99, maxEntries: 999, followDirectorySymlinks: true};
		const walk = await client.call<{entries: unknown[]}>('fs/walk', {path, options}).catch(() => ({entries: []}));
		expect(walk.entries).toEqual([]);
		const search = {searchId: 's', path, contents: {pattern: '.', regex: true}, hidden: true};
		const found = await client.call<{matches: number}>('fs/search', search).catch(() => ({matches: 0}));
		expect(found.matches).toBe(0);
		for (const method of ['fs/list', 'fs/pack']) {
			await client.call(method, {handleId: method, path}).catch(() => {});
			const read = client.call<{chunk: string}>('fs/readBlock', {handleId: method, offset: 0, len: 99_999});
			const text = await read.then(
				({chunk}) => bytes(chunk).toString('latin1'),
				() => '',
			);
			expect(text).not.toMatch(/environ|statm|cmdline/);
			await client.call('fs/close', {handleId: method});
		}
	}
	const {entries} = await client.call<{entries: {fileName: string}[]}>('fs/readDirectory', {path: uri('/proc')});
	expect(entries.map(({fileName}) => fileName)).toEqual(expect.arrayContaining(['1', 'cpuinfo', String(pid)]));
});

test('an ignore file that is a link to an entry of the server is none', async () => {
	const {client} = await serveStdio();
	const scratch = scratchDirectory();
	writeFileSync(join(scratch, SECRET), 'x');
	symlinkSync('/proc/self/environ', join(scratch, '.gitignore'));
	mkdirSync(join(scratch, '.git'));
	const found = await client.call('fs/search', {searchId: 's', path: uri(scratch), names: ['*']});
	expect(found).toMatchObject({matches: 1});
});

test('descriptors of the server are neither read nor written', needsRoot(), async () => {
	const {client, pid} = await serveStdio();
	await client.sh('reader', 'cat', {pipeStdin: true});
	const accepted: string[] = [];
	let pipes = 0;
	for (const name of readdirSync(`/proc/${pid}/fd`)) {
		const target = readlinkSync(`/proc/${pid}/fd/${name}`);
		if (target.startsWith('/') && !target.startsWith('/memfd:')) continue;
		if (target.startsWith('pipe:')) pipes++;
		for (const path of [`/proc/self/fd/${name}`, `/dev/fd/${name}`, `/proc/${pid}/fd/${name}`]) {
			const request = {path: uri(path), dataBase64: base64('x')};
			for (const method of ['fs/readFile', 'fs/writeFile']) {
				await client.call(method, request).then(
					() => accepted.push(`${method} ${path} ${target}`),
					() => {},
				);
			}
		}
	}
	for (const path of ['/dev/stdin', '/dev/stdout', '/dev/stderr']) {
		const write = client.call('fs/writeFile', {path: uri(path), dataBase64: base64('x')});
		await expect(write).rejects.toThrow(/Permission denied|No such device/);
	}
	expect(accepted).toEqual([]);
	expect(pipes).toBeGreaterThan(2);
	await client.call('process/write', {processId: 'reader', chunk: base64('only this'), writeId: 'w'});
	await client.call('process/closeStdin', {processId: 'reader'});
	expect(await client.done('reader')).toMatchObject({stdout: 'only this'});
});

test('the machine and other processes are shown as before', async () => {
	const {client} = await serveStdio();
	const read = async (path: string): Promise<string> => {
		const {dataBase64} = await client.call<{dataBase64: string}>('fs/readFile', {path: uri(path)});
		return bytes(dataBase64).toString('latin1');
	};
	for (const path of ['/proc/cpuinfo', '/proc/meminfo', '/proc/net/tcp', '/proc/mounts', '/proc/sys/kernel/ostype']) {
		expect(await read(path)).not.toBe('');
	}
	expect(await read(`/proc/${process.pid}/environ`)).toBe(readFileSync(`/proc/${process.pid}/environ`, 'latin1'));
	expect(await read(`/proc/self/root${import.meta.filename}`)).toContain('as before');
	const metadata = await client.call('fs/getMetadata', {path: uri('/proc/version')});
	expect(metadata).toMatchObject({isFile: true});
});

test('other mounts of /proc, and mounts of single entries, do not show the server either', {
	...needs('unshare', 'mount'),
	...needsRoot(),
}, async () => {
	const scratch = scratchDirectory();
	for (const name of ['again', 'own', 'file', 'bound']) mkdirSync(join(scratch, name));
	writeFileSync(join(scratch, 'environ'), '');
	const script = `
		cd ${scratch}
		mount -t proc proc again && mount --bind /proc bound && mount --bind /proc/$$ own && mount --bind /proc/$$/environ environ
		exec ${process.execPath} ${PROGRAM} ${SERVE.join(' ')}`;
	const child = spawn('unshare', ['--mount', 'sh', '-ec', script], {stdio: ['pipe', 'pipe', 'inherit']});
	onTestFinished(() => void child.kill('SIGKILL'));
	const client = await new TestClient(new StdioTransport(child.stdout, child.stdin)).initialize();
	const read = (path: string) => client.call<{dataBase64: {length: number}}>('fs/readFile', {path: uri(scratch, path)});
	for (const path of ['again/self', `again/${child.pid}`, 'bound/self', `bound/${child.pid}`, 'own', 'own/task/../']) {
		expect([path, await refusal(read(`${path}/environ`))]).toEqual([path, expect.objectContaining(REFUSED)]);
	}
	expect(await refusal(read('environ'))).toMatchObject(REFUSED);
	for (const path of ['again/cpuinfo', 'bound/meminfo', 'again/1/status', 'bound/1/status', 'again/net/tcp']) {
		expect((await read(path)).dataBase64.length).toBeGreaterThan(0);
	}
});
