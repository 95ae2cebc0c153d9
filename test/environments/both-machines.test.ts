import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {toSandboxContext} from '../../src/client/run/sandbox-policy.js';
import {Environment} from '../../src/environments/environment.js';
import {PROGRAM} from '../helpers/command.js';
import {needsSandbox} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {origin} from '../network/origin.js';
import {untilHeldBack} from './contract/bench.js';

const MACHINES: Readonly<Record<string, () => Promise<Environment>>> = {
	'this machine': async () => Environment.local(),
	'another machine': async () => {
		const ownCommand = [process.execPath, PROGRAM];
		const {url} = await serving({stateDirectory: join(scratchDirectory(), 'state'), ownCommand});
		return Environment.remote('box', url);
	},
};

describe.each(Object.entries(MACHINES))('on %s', (_name, create) => {
	async function machine(): Promise<Environment> {
		const environment = await create();
		onTestFinished(() => environment.close());
		return environment;
	}

	test('a process that waits for its reader reports its end when it was killed', async () => {
		const environment = await machine();
		const process = await environment.start(['sh', '-c', 'head -c 50000000 /dev/zero'], {backpressure: true});
		await untilHeldBack(process);
		expect(await process.terminate()).toEqual({running: true});
		expect(await process.exited).toMatchObject({exitCode: 137, reason: 'terminated'});
		await process.closed;
		expect(process.isOver).toBe(true);
		let bytes = 0;
		for await (const piece of process.output()) bytes += piece.kind === 'output' ? piece.bytes.length : 0;
		expect(bytes).toBeGreaterThan(0);
	});

	test('a plain exit has a reason, and a second kill finds nothing running', async () => {
		const environment = await machine();
		expect(await (await environment.start(['true'])).exited).toMatchObject({exitCode: 0, reason: 'exit'});
		const process = await environment.start(['sleep', '1000']);
		expect(await process.terminate()).toEqual({running: true});
		expect(await process.terminate()).toEqual({running: false});
	});

	test('signals have names, and a variable that is undefined is not set', async () => {
		const environment = await machine();
		const process = await environment.start(['sleep', '1000']);
		await process.signal('SIGTERM');
		expect(await process.exited).toMatchObject({exitCode: 143, reason: 'signal'});
		await expect(process.signal(15 as never)).rejects.toThrow(TypeError);
		const {stdout} = await environment.run(['sh', '-c', 'echo "${A-unset}"'], {env: {A: undefined}});
		expect(stdout.text).toBe('unset\n');
	});

	test('screens, logs and prompts of an ordinary process can be looked at', async () => {
		const environment = await machine();
		const script = 'printf "Name: "; read x; echo "hello $x"; exec sleep 1000';
		const process = await environment.start(['sh', '-c', script], {tty: {rows: 4, cols: 20}});
		expect(await process.waitFor({input: true})).toMatchObject({by: 'input', waitingFor: 'input'});
		await process.write('you\n');
		await process.waitFor({pattern: 'hello you'});
		expect((await process.screen()).lines.slice(0, 2)).toEqual(['Name: you', 'hello you']);
		await process.terminate();
		await process.closed;
		let text = '';
		for await (const entry of process.logs({grep: 'hello'}))
			if (entry.kind === 'output') text += Buffer.from(entry.bytes);
		expect(text).toContain('hello you');
		await process.remove();
		expect(await environment.processes.list()).toEqual([]);
	});

	test('a list of all processes has those of this client that have ended, too', async () => {
		const environment = await machine();
		await (await environment.start(['true'], {processId: 'ended'})).closed;
		await environment.start(['sleep', '1000'], {processId: 'running'});
		const all = (await environment.processes.list({all: true})).map(({processId}) => processId);
		expect(all).toEqual(expect.arrayContaining(['ended', 'running']));
	});

	test('a response tells its URL, and whether it was redirected', async () => {
		const environment = await machine();
		const {url} = await origin((request, response) => {
			if (request.url === '/old') response.writeHead(302, {location: '/new?a=1'}).end();
			else response.end('there');
		});
		const plain = await environment.fetch(`${url}/new#part`);
		expect([plain.url, plain.redirected]).toEqual([`${url}/new`, false]);
		const redirected = await environment.fetch(`${url}/old`);
		expect([redirected.url, redirected.redirected]).toEqual([`${url}/new?a=1`, true]);
		const manual = await environment.fetch(`${url}/old`, {redirect: 'manual'});
		expect([manual.url, manual.redirected]).toEqual([`${url}/old`, false]);
	});

	test('files above 48 MiB are read and written, and directories above a file are made', async () => {
		const environment = await machine();
		const path = join(scratchDirectory(), 'a/b/large');
		const content = new Uint8Array(49 * 1024 * 1024).fill(7);
		content[content.length - 1] = 8;
		await expect(environment.files.writeFile(path, content)).rejects.toMatchObject({code: 'not-found'});
		await environment.files.writeFile(path, content, {recursive: true});
		expect(Buffer.compare(readFileSync(path), content)).toBe(0);
		expect(Buffer.compare(await environment.files.readFile(path), content)).toBe(0);
		expect(Buffer.compare(await environment.files.readFile(path, {followSymlinks: false}), content)).toBe(0);
	});

	test('a sandbox restricts file calls', needsSandbox(), async () => {
		const environment = await machine();
		const directory = scratchDirectory();
		writeFileSync(join(directory, 'file'), 'content');
		const sandbox = toSandboxContext('read-only', `file://${directory}`);
		const {files} = environment;
		expect(await files.readText(join(directory, 'file'), {sandbox})).toBe('content');
		await expect(files.writeFile(join(directory, 'file'), 'x', {sandbox})).rejects.toMatchObject({name: 'FileError'});
		await expect(files.rm(join(directory, 'file'), {sandbox})).rejects.toMatchObject({name: 'FileError'});
		expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('content');
	});

	test('every call after close() says that the environment is closed', async () => {
		const environment = await machine();
		await environment.run(['true']);
		await environment.close();
		const closed = {message: 'the environment is closed'};
		expect(await environment.run(['true'], {reject: false})).toMatchObject({reason: 'disconnected', error: closed});
		await expect(environment.start(['true'])).rejects.toMatchObject(closed);
		await expect(environment.processes.list()).rejects.toMatchObject(closed);
		await expect(environment.files.exists('/')).rejects.toMatchObject({code: 'disconnected', ...closed});
		await expect(environment.fetch('http://127.0.0.1:1')).rejects.toMatchObject({code: 'disconnected', ...closed});
		await expect(environment.connect({port: 1})).rejects.toMatchObject({code: 'disconnected', ...closed});
		expect(await environment.status()).toEqual({kind: 'disconnected', error: closed.message});
	});
});
