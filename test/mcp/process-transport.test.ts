import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {Client} from '@modelcontextprotocol/client';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {LOST_LINK_MS, ProcessTransport, type ProcessTransportOptions} from '../../src/mcp/process-transport.js';
import {stopClock} from '../helpers/clock.js';
import {PROGRAM} from '../helpers/command.js';
import {eventually} from '../helpers/processes.js';
import {ENVIRONMENTS} from '../helpers/transports.js';

const SERVER = new URL('../fixtures/mcp-server.mjs', import.meta.url).pathname;

const CALLS = Array.from({length: 500}, (_, index) => `call ${index}`);

interface Connected {
	readonly client: Client;
	readonly transport: ProcessTransport;
	readonly errors: Error[];
	/** Settles when the SDK was told of the end. */
	readonly closed: Promise<void>;
}

async function connected(environment: Environment, options: ProcessTransportOptions = {}): Promise<Connected> {
	const transport = new ProcessTransport(environment, [process.execPath, SERVER], options);
	const client = new Client({name: 'test', version: '1'});
	const errors: Error[] = [];
	const closed = new Promise<void>(resolve => {
		Object.assign(client, {onerror: (error: Error) => errors.push(error), onclose: resolve});
	});
	await client.connect(transport);
	onTestFinished(() => client.close());
	return {client, transport, errors, closed};
}

async function echo(client: Client, text: string): Promise<string> {
	const {content} = await client.callTool({name: 'echo', arguments: {text}});
	return (content as {text: string}[])[0]!.text;
}

describe.each(Object.entries(ENVIRONMENTS))('on %s', (name, machine) => {
	test('a server of the official SDK is greeted, lists its tools and is called', async () => {
		let heard = '';
		const onStderr = (text: string): void => {
			heard += text;
		};
		const {client, transport} = await connected(await machine(), {onStderr});
		expect(client.getServerVersion()).toMatchObject({name: 'fixture', version: '1.0.0'});
		expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['echo', 'hang', 'crash']);
		const text = `grüße\n${'x'.repeat(200_000)}`;
		expect(await echo(client, text)).toBe(text);
		expect(await eventually(() => heard)).toBe('ready to serve\n');
		expect(transport.stderr).toBe('ready to serve\n');
	});

	test('it is called a thousand times, all at once and one after the other', async ({skip}) => {
		if (name.includes('stock')) skip('the same as above, and slow there');
		const {client} = await connected(await machine());
		const all = await Promise.all(CALLS.map(text => echo(client, text)));
		expect(all).toEqual(CALLS);
		for (const text of CALLS) expect(await echo(client, text)).toBe(text);
	});

	test('a server that ends fails what is pending, with its last words', async () => {
		const {client, errors, closed} = await connected(await machine());
		const pending = client.callTool({name: 'hang'});
		const crashing = client.callTool({name: 'crash'});
		await expect(pending).rejects.toThrow(/closed/i);
		await expect(crashing).rejects.toThrow(/closed/i);
		await closed;
		expect(errors.map(({message}) => message)).toContain('the MCP server exited with code 3: about to crash');
		await expect(client.callTool({name: 'echo', arguments: {text: 'x'}})).rejects.toThrow('Not connected');
	});

	test('closing ends the server cleanly', async () => {
		const {client, errors, closed} = await connected(await machine());
		await client.close();
		await closed;
		expect(errors).toEqual([]);
	});
});

test('a program that is no server says so instead of hanging', async () => {
	const environment = Environment.local();
	onTestFinished(() => environment.close());
	const client = new Client({name: 'test', version: '1'});
	const errors: string[] = [];
	Object.assign(client, {onerror: (error: Error) => errors.push(error.message)});
	const transport = new ProcessTransport(environment, ['/bin/sh', '-c', 'echo welcome; echo no >&2; exit 9']);
	await expect(client.connect(transport)).rejects.toThrow(/closed/i);
	expect(errors).toEqual([
		'the MCP server said something that is not JSON: welcome',
		'the MCP server exited with code 9: no',
	]);
});

test('a program that is not there cannot be connected to', async () => {
	const environment = Environment.local();
	onTestFinished(() => environment.close());
	const client = new Client({name: 'test', version: '1'});
	const connecting = client.connect(new ProcessTransport(environment, ['/no/such/server']));
	await expect(connecting).rejects.toThrow('os error 2');
});

test('when the machine is killed a pending call fails, although the link would be tried for longer', async () => {
	const server = spawn(process.execPath, [PROGRAM, 'serve', '--listen', 'ws://127.0.0.1:0']);
	onTestFinished(() => void server.kill('SIGKILL'));
	const [line] = (await once(server.stdout, 'data')) as [Buffer];
	const environment = Environment.remote('box', {kind: 'websocket', url: String(line).trim()});
	onTestFinished(() => environment.close());
	const {client, errors, closed} = await connected(environment);
	expect(await echo(client, 'alive')).toBe('alive');
	const pending = client.callTool({name: 'hang'});
	// Nothing says that the call has arrived, but the next one is behind it.
	await echo(client, 'behind it');
	server.kill('SIGKILL');
	await expect(pending).rejects.toThrow(/closed/i);
	await closed;
	expect(errors[0]!.message).toContain('exec-server transport disconnected');
});

test('a link that is back at once is not noticed', async () => {
	const {serving} = await import('../helpers/serving.js');
	const {url, ends} = await serving();
	const environment = Environment.remote('box', {kind: 'websocket', url});
	onTestFinished(() => environment.close());
	const {client, errors} = await connected(environment);
	// Whoever is told of the loss later than the transport finds its time almost over.
	const forget = environment.onDisconnect(() => {
		// Once: the end of the test is a loss, too.
		forget();
		vi.advanceTimersByTime(LOST_LINK_MS - 1);
	});
	stopClock();
	ends[0]!.rpc.destroy();
	expect(await echo(client, 'still here')).toBe('still here');
	expect([errors, ends.length]).toEqual([[], 2]);
});
