// covers: src/mcp/server/http
import {execFile} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {request} from 'node:http';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';
import {expect, onTestFinished, test} from 'vitest';
import {McpListener, type McpListenerOptions} from '../../../src/mcp/server/http/mcp-listener.js';
import {Authenticator} from '../../../src/server/auth/authenticator.js';
import {callText, MODERN, machineAt, machineUrl, mcpService, untilListed} from '../../helpers/mcp-service.js';
import {hasIpv6, needsRoot, runAsNobody} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const TOKEN = 'a-token-of-some-length-0123456789abcdef';

async function listener(options: Partial<McpListenerOptions> = {}, url?: string): Promise<string> {
	const service = mcpService([machineAt(url ?? (await machineUrl()))], {hasSecretIds: !options.authenticator});
	const opened = await McpListener.listen(service, {
		host: '127.0.0.1',
		port: 0,
		authenticator: undefined,
		allowedOrigins: [],
		...options,
	});
	onTestFinished(() => opened[Symbol.asyncDispose]());
	return opened.url;
}

async function httpClient(url: string, {modern = false, token = ''} = {}): Promise<Client> {
	const client = new Client({name: 'test', version: '1'}, modern ? {versionNegotiation: {mode: {pin: MODERN}}} : {});
	const headers = token === '' ? {} : {headers: {Authorization: `Bearer ${token}`}};
	await client.connect(new StreamableHTTPClientTransport(new URL(url), {requestInit: headers}));
	onTestFinished(() => client.close());
	return client;
}

/** Status of a request with headers that `fetch` does not let one choose. */
function statusOf(url: string, headers: Record<string, string>): Promise<number> {
	return new Promise((resolve, reject) => {
		const asked = request(
			url,
			{method: 'POST', headers: {'Content-Type': 'application/json', ...headers}},
			response => {
				response.resume();
				resolve(response.statusCode!);
			},
		);
		asked.once('error', reject);
		asked.end('{}');
	});
}

for (const [version, modern] of Object.entries({'2025-11-25': false, [MODERN]: true})) {
	test(`a client of ${version} works over HTTP, with ids that cannot be guessed`, async () => {
		const url = await listener();
		const client = await httpClient(url, {modern});
		const text = await callText(client, 'exec', {command: 'echo hi; sleep 1000', wait_s: 0});
		const [, id] = /· (p1-[0-9a-f]{16}) ·/.exec(text)!;
		const other = await httpClient(url, {modern});
		expect(await callText(other, 'wait', {id: id!, wait_s: 0})).toMatch(/^\[running/);
		expect(await callText(other, 'wait', {id: 'p1'})).toMatch(/^ERROR no process has the id "p1"/);
		expect(await callText(client, 'stop', {id: id!})).toMatch(/^\[ended/);
	});
}

test('ids of other services are not shown where they are secrets', async () => {
	const machine = await machineUrl();
	const client = await httpClient(await listener({}, machine));
	const started = await callText(client, 'exec', {command: 'sleep 1000', wait_s: 0, name: 'mine'});
	const [, id] = /· (mine-[0-9a-f]{16}) ·/.exec(started)!;
	const listed = await callText(await httpClient(await listener({}, machine)), 'ps', {});
	expect(listed).toMatch(/^mine-… · running/m);
	expect(listed).not.toContain(id!);
	await callText(client, 'stop', {id: id!});
});

test('web pages are refused by their origin and by the name of the host', async () => {
	const url = await listener({allowedOrigins: ['https://good.example']});
	expect(await statusOf(url, {Origin: 'https://evil.example'})).toBe(403);
	expect(await statusOf(url, {Origin: 'null'})).toBe(403);
	expect(await statusOf(url, {Host: 'rebound.example'})).toBe(403);
	expect(await statusOf(url, {Origin: 'https://good.example'})).not.toBe(403);
	const {host, hostname} = new URL(url);
	expect(await statusOf(url, {Origin: `http://${host}`})).not.toBe(403);
	expect(await statusOf(url, {Origin: `http://${hostname}:1`})).toBe(403);
	expect(await statusOf(url.replace('/mcp', '/other'), {})).toBe(404);
});

test('with a token only its holders get in, and ids are short', async () => {
	const path = join(scratchDirectory(), 'token');
	writeFileSync(path, TOKEN, {mode: 0o600});
	const url = await listener({authenticator: new Authenticator({kind: 'token-file', path})});
	expect(await statusOf(url, {})).toBe(401);
	expect(await statusOf(url, {Authorization: 'Bearer wrong'})).toBe(401);
	const client = await httpClient(url, {token: TOKEN});
	expect(await callText(client, 'exec', {command: 'true'})).toMatch(/· p1 ·/);
});

test('without a token, other users of this machine are refused, whatever headers they send', needsRoot(), async () => {
	for (const host of ['127.0.0.1', '127.0.0.2', ...(hasIpv6() ? ['::1'] : [])]) {
		const url = await listener({host});
		const statuses = await runAsNobody(() =>
			Promise.all([{}, {Host: 'localhost'}, {Origin: new URL(url).origin}].map(headers => statusOf(url, headers))),
		);
		expect(statuses).toEqual([403, 403, 403]);
		expect(await statusOf(url, {})).not.toBe(403);
	}
});

test('with a token, other users of this machine are let in', needsRoot(), async () => {
	const path = join(scratchDirectory(), 'token');
	writeFileSync(path, TOKEN, {mode: 0o600});
	const url = await listener({authenticator: new Authenticator({kind: 'token-file', path})});
	expect(await runAsNobody(() => statusOf(url, {Authorization: `Bearer ${TOKEN}`}))).not.toBe(403);
});

/** Prints the status of a request to the address it is given. */
const ASK = "fetch(process.argv[1], {method: 'POST', body: '{}'}).then(({status}) => console.log(status))";

test.for([
	['in a sandbox of bubblewrap', 'bwrap', ['--dev-bind', '/', '/', '--unshare-user']],
	['in a user namespace of its own', 'unshare', ['--user']],
	['that can gain no privileges', 'setpriv', ['--no-new-privs']],
] as const)('without a token, a program %s is refused', async ([, program, args], {skip}) => {
	const works = await promisify(execFile)(program, [...args, 'true']).catch(() => undefined);
	if (!works) skip(`${program} does not work here`);
	const url = await listener();
	const ask = async (via: string, ...more: string[]): Promise<string> =>
		(await promisify(execFile)(via, [...more, process.execPath, '-e', ASK, url])).stdout.trim();
	expect(await ask('env')).not.toBe('403');
	expect(await ask(program, ...args)).toBe('403');
});

test('a client that leaves ends the waiting, and the command goes on', async () => {
	const url = await listener();
	const client = await httpClient(url, {modern: true});
	const abort = new AbortController();
	const call = client.callTool(
		{name: 'exec', arguments: {command: 'sleep 1000', name: 'left'}},
		{signal: abort.signal},
	);
	call.catch(() => {});
	const watcher = await httpClient(url);
	await untilListed(watcher, /left-… · running|left-\w+ · running/);
	abort.abort();
	await expect(call).rejects.toThrow(/abort|enough|cancel/i);
	const listed = await callText(watcher, 'ps', {});
	expect(listed).toMatch(/^left-.* · running/m);
});
