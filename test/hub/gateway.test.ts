// covers: src/hub/gateway
import {once} from 'node:events';
import {connect} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocket} from 'ws';
import {Environment} from '../../src/environments/environment.js';
import {ExecServer} from '../../src/server/server.js';
import {createLineLogger} from '../../src/shared/node/line-logger.js';
import {publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {fromWebSocket} from '../../src/transports/node/from-web-socket.js';
import {fingerprintOfKeys} from '../../src/transports/node/relay/known-executors.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {rawRequest, UPGRADE} from '../helpers/raw-http.js';
import {openRelayPeer} from '../helpers/relay-peers.js';

/** An environment of a plain client at the gateway; closed with the test. */
function plainEnvironment({url, clientToken: token}: RunningHub, id: string): Environment {
	const address = `${url.replace('http', 'ws')}/environments/${id}`;
	const environment = Environment.remote(id, {kind: 'websocket', url: address, token});
	onTestFinished(() => environment.close());
	return environment;
}

/** Status of a plain client's upgrade. */
async function statusAt({url}: RunningHub, path: string, token?: string): Promise<number> {
	const headers = token === undefined ? {} : {authorization: `Bearer ${token}`};
	const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, {headers});
	socket.on('error', () => {});
	onTestFinished(() => socket.terminate());
	const refused = new Promise<number>(resolve => {
		socket.on('unexpected-response', (_request, response) => resolve(response.statusCode!));
	});
	return Promise.race([refused, once(socket, 'open').then(() => 101)]);
}

test('a client that knows no registry reaches an executor through the gateway', async () => {
	const hub = await runningHub({hasGateway: true});
	await runningExecutor(hub, 'devbox');
	const box = plainEnvironment(hub, 'devbox');
	const {stdout, exitCode} = await box.shell('seq 1 20000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([20_001, 3]);
	const content = Buffer.alloc(8 * 1024 * 1024, 'longarm ');
	const path = `/tmp/longarm-gateway-${process.pid}`;
	await box.files.writeFile(path, content);
	expect(Buffer.from(await box.files.readFile(path)).equals(content)).toBe(true);
	await box.files.remove(path);
});

test('a plain client resumes its session after the executor or its own socket was lost', async () => {
	const hub = await runningHub({hasGateway: true});
	await runningExecutor(hub, 'devbox');
	const box = plainEnvironment(hub, 'devbox');
	const process = await box.start(['sh', '-c', 'for i in 1 2 3 4 5 6; do read line; echo "$line"; done'], {
		stdin: true,
	});
	for (let line = 1; line <= 6; line++) {
		await process.write(`${line}\n`);
		const executor = hub.hub.relay.findExecutor('devbox');
		if (line === 2) for (const harness of executor!.harnesses) harness.socket.close(1001);
		if (line === 4) executor!.socket.destroy(new Error('cut'));
	}
	let text = '';
	for await (const piece of process.output())
		text += piece.kind === 'output' ? Buffer.from(piece.bytes).toString() : 'gap';
	expect(text).toBe('1\n2\n3\n4\n5\n6\n');
});

test('without --gateway there is none, and with it a token of a client is needed', async () => {
	const closed = await runningHub();
	await runningExecutor(closed, 'devbox');
	expect(await statusAt(closed, '/environments/devbox', closed.clientToken)).toBe(404);
	const register = await fetch(`${closed.url}/cloud/executor/old/register`, {method: 'POST', body: '{}'});
	expect(register.status).toBe(404);
	const hub = await runningHub({hasGateway: true});
	await runningExecutor(hub, 'devbox');
	const narrow = (await hub.hub.tokens.create('client', 'other')).token;
	const path = '/environments/devbox';
	expect(await statusAt(hub, path)).toBe(401);
	expect(await statusAt(hub, path, hub.executorToken)).toBe(401);
	expect(await statusAt(hub, path, narrow)).toBe(403);
	expect(await statusAt(hub, '/environments/offline', hub.clientToken)).toBe(503);
	expect(await statusAt(hub, '/environments/no%20id', hub.clientToken)).toBe(400);
	expect(await statusAt(hub, path, hub.clientToken)).toBe(101);
});

const BAD_UPGRADES: readonly (readonly [string, Record<string, string>])[] = [
	['a subprotocol header that cannot be parsed', {'Sec-WebSocket-Protocol': ',,'}],
	['a key of the wrong length', {'Sec-WebSocket-Key': 'short'}],
	['another version', {'Sec-WebSocket-Version': '7'}],
];

test.for(BAD_UPGRADES)('an upgrade with %s leaves no stream open at the executor', async ([, headers]) => {
	const hub = await runningHub({hasGateway: true});
	await runningExecutor(hub, 'devbox');
	const Authorization = `Bearer ${hub.clientToken}`;
	const answer = await rawRequest(hub.url, 'GET /environments/devbox', {...UPGRADE, Authorization, ...headers});
	expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
	await eventually(() => hub.hub.relay.findExecutor('devbox')!.harnesses.size === 0);
	expect(hub.hub.relay.findExecutor('devbox')!.streams.size).toBe(0);
});

test('clients that hang up during their upgrade leave no stream open at the executor', async () => {
	const hub = await runningHub({hasGateway: true});
	await runningExecutor(hub, 'devbox');
	const {hostname, port, host} = new URL(hub.url);
	const lines = Object.entries({Host: host, Authorization: `Bearer ${hub.clientToken}`, ...UPGRADE});
	const head = `GET /environments/devbox HTTP/1.1\r\n${lines.map(each => each.join(': ')).join('\r\n')}\r\n\r\n`;
	const abandon = async (): Promise<void> => {
		const socket = connect({host: hostname, port: Number(port)});
		await once(socket, 'connect');
		await new Promise<void>(resolve => socket.write(head, () => resolve()));
		socket.resetAndDestroy();
	};
	for (let count = 0; count < 16; count++) await abandon();
	expect(await statusAt(hub, '/environments/devbox', hub.clientToken)).toBe(101);
	await eventually(() => hub.hub.relay.findExecutor('devbox')!.streams.size === 1);
});

test('the hub closes the socket of a refused upgrade that its client keeps open', async () => {
	const hub = await runningHub();
	const {hostname, port, host} = new URL(hub.url);
	const socket = connect({host: hostname, port: Number(port), allowHalfOpen: true});
	onTestFinished(() => void socket.destroy());
	const lines = Object.entries({Host: host, ...UPGRADE}).map(each => each.join(': '));
	socket.write(`GET /relay?ticket=none HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
	socket.resume();
	await once(socket, 'end');
	// Only a socket that the hub has closed on both sides answers further bytes with a reset.
	socket.on('error', () => {});
	const over = new Promise<boolean>(resolve => socket.once('close', resolve));
	const writing = setInterval(() => socket.write('x'), 20);
	onTestFinished(() => clearInterval(writing));
	expect(await over).toBe(true);
});

/** An executor of 0.130: registers before every connection, and serves plain JSON-RPC on it. */
function serveAsFirstVersion(hub: RunningHub, id: string): void {
	const server = new ExecServer();
	const over = new AbortController();
	const serve = async (): Promise<void> => {
		while (!over.signal.aborted) {
			const response = await fetch(`${hub.url}/cloud/executor/${id}/register`, {
				method: 'POST',
				headers: {authorization: `Bearer ${hub.executorToken}`},
				body: JSON.stringify({idempotency_id: 'i', executor_id: id, name: 'old', labels: {}, metadata: {}}),
			});
			const {executor_id: echoed, url} = (await response.json()) as Record<string, string>;
			expect(echoed).toBe(id);
			const socket = new WebSocket(url!, {perMessageDeflate: false});
			await once(socket, 'open');
			server.accept(fromWebSocket(socket, {end: 'client'}));
			await once(socket, 'close');
		}
	};
	const served = serve();
	served.catch(() => {});
	onTestFinished(async () => {
		over.abort();
		await hub.hub.close();
		await server.shutdown(0);
	});
}

test('an executor of 0.130 serves one plain client after the other', async () => {
	let online = 0;
	const logger = createLineLogger({
		level: 'info',
		format: 'json',
		write: line => (online += line.includes('executor online') ? 1 : 0),
	});
	const hub = await runningHub({hasGateway: true, logger});
	serveAsFirstVersion(hub, 'old');
	await eventually(() => online > 0);
	expect(await listOf(hub)).toMatchObject([
		{id: 'old', isOnline: true, key: 'none', streams: 0, onlineForMs: expect.any(Number) as number, slots: null},
	]);
	for (const [index, word] of ['one', 'two'].entries()) {
		// It gets a new socket for each client.
		await eventually(() => online > index);
		const environment = plainEnvironment(hub, 'old');
		const {stdout} = await environment.shell(`echo ${word}`);
		expect(stdout.text).toBe(`${word}\n`);
		await environment.close();
	}
});

test('executors of 0.130 are listed and followed among the others, and only while they are there', async () => {
	const hub = await runningHub({hasGateway: true});
	const headers = {authorization: `Bearer ${hub.clientToken}`};
	const watching = await fetch(`${hub.url}/environments?watch=1`, {headers});
	const reader = watching.body!.pipeThrough(new TextDecoderStream()).getReader();
	const register = await fetch(`${hub.url}/cloud/executor/old/register`, {
		method: 'POST',
		headers: {authorization: `Bearer ${hub.executorToken}`},
		body: JSON.stringify({executor_id: 'old'}),
	});
	const {url} = (await register.json()) as {url: string};
	const peer = await openRelayPeer(url);
	expect((await reader.read()).value).toBe('{"id":"old","isOnline":true}\n');
	const {keys} = await runningExecutor(hub, 'devbox');
	expect((await reader.read()).value).toBe('{"id":"devbox","isOnline":true}\n');
	expect((await listOf(hub)).map(({id, key}) => [id, key])).toEqual([
		['devbox', fingerprintOfKeys(publicKeysOf(keys))],
		['old', 'none'],
	]);
	peer.socket.close();
	expect((await reader.read()).value).toBe('{"id":"old","isOnline":false}\n');
	expect((await listOf(hub)).map(({id}) => id)).toEqual(['devbox']);
});

async function listOf({url, clientToken}: RunningHub): Promise<readonly {id: string; key: string}[]> {
	const response = await fetch(`${url}/environments`, {headers: {authorization: `Bearer ${clientToken}`}});
	return ((await response.json()) as {environments: {id: string; key: string}[]}).environments;
}

test('a ticket of an executor of 0.130 is good once, and later versions without a cipher are refused', async () => {
	const hub = await runningHub({hasGateway: true});
	const register = (body: object): Promise<Response> =>
		fetch(`${hub.url}/cloud/executor/old/register`, {
			method: 'POST',
			headers: {authorization: `Bearer ${hub.executorToken}`},
			body: JSON.stringify(body),
		});
	expect((await register({})).status).toBe(400);
	const {url} = (await (await register({executor_id: 'old'})).json()) as {url: string};
	await openRelayPeer(url);
	await expect(openRelayPeer(url)).rejects.toThrow('401');
});
