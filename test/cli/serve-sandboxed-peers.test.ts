import {join} from 'node:path';
import {expect, test} from 'vitest';
import {connectUnixSocket} from '../../src/transports/node/connect-web-socket.js';
import {Command} from '../helpers/command.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {needs} from '../helpers/needs.js';
import {policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';
import {clientWith, fileWith} from '../helpers/tokens.js';

const WITH_NETWORK = {sandbox: policy([root('read')], {network: 'enabled', cwd: 'file:///'})};
const TOKEN = 'a token for tests';

/** Prints the status of an upgrade request to a port or a socket. */
const ASK = String.raw`
const [place, token] = process.argv.slice(1);
const where = place.startsWith('/') ? {path: place} : {host: '127.0.0.1', port: Number(place)};
const socket = require('node:net').connect(where, () => socket.write(
	'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
	'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' + (token ? 'Authorization: Bearer ' + token + '\r\n' : '') + '\r\n'));
socket.once('data', data => { console.log(String(data).split(' ')[1]); process.exit(); });
socket.once('error', error => { console.log(error.code); process.exit(); });
`;

/** Connects and asks, hides the descriptor in the queue of a pair of sockets for the time of the answer, and reads it. */
const ASK_AND_HIDE = String.raw`
import os, socket, sys
place = ('127.0.0.1', int(sys.argv[1]))
near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
peer, other = socket.create_connection(place), socket.create_connection(place)
peer.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
	b'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r')
socket.send_fds(near, [b'x'], [peer.fileno()])
peer.sendall(b'\n')
peer.close()
other.sendall(b'GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n')
other.recv(100)
_, fds, _, _ = socket.recv_fds(far, 1, 1)
print(socket.socket(fileno=fds[0]).recv(100).decode().split(' ')[1])
`;

const ask = (place: string, token = ''): string => `'${process.execPath}' -e "$ASK" '${place}' '${token}'`;

async function statusOf(client: TestClient, id: string, command: string, more: object = {}): Promise<string> {
	await client.sh(id, command, {env: {ASK, ASK_AND_HIDE, PATH: process.env['PATH']!}, ...more});
	const {stdout, stderr} = await client.done(id);
	return (stdout + stderr).trim();
}

interface Served {
	readonly client: TestClient;
	readonly url: string;
	readonly port: string;
}

async function served(...args: string[]): Promise<Served> {
	const url = await new Command(['serve', '--listen', 'ws://127.0.0.1:0', ...args]).url();
	const isGuarded = args.includes('--ws-auth');
	const client = isGuarded ? await clientWith(url, TOKEN) : await (await TestClient.overWebSocket(url)).initialize();
	return {client, url, port: new URL(url).port};
}

describeEnforcers('in a sandbox with a network', enforcer => {
	test('a process in it gets no connection to its server, one without a sandbox does', async () => {
		const {client, url, port} = await served('--sandbox-enforcer', enforcer);
		expect(await statusOf(client, 'free', ask(port))).toBe('101');
		expect(await statusOf(client, 'held', ask(port), WITH_NETWORK)).toBe('403');
		expect(await statusOf(client, 'detached', `setsid -f ${ask(port)} | cat`, WITH_NETWORK)).toBe('403');
		// While there is such a process, others still get in, and one without a network is no reason to look.
		const without = {sandbox: policy([root('read')], {cwd: 'file:///'})};
		await client.sh('offline', 'echo ready; exec sleep 1000', without);
		await client.shows('offline', 'ready');
		expect(await statusOf(client, 'free beside', ask(port))).toBe('101');
		await client.sh('waiting', 'echo ready; exec sleep 1000', WITH_NETWORK);
		await client.shows('waiting', 'ready');
		expect(await statusOf(client, 'free again', ask(port))).toBe('101');
		await (await TestClient.overWebSocket(url)).initialize();
	});

	test('a descriptor that no process holds is not let in either', needs('python3'), async () => {
		const {client, port} = await served('--sandbox-enforcer', enforcer);
		expect(await statusOf(client, 'hidden', `python3 -c "$ASK_AND_HIDE" ${port}`, WITH_NETWORK)).toBe('403');
	});

	test('a token does not help', async () => {
		const {client, port} = await served(
			'--sandbox-enforcer',
			enforcer,
			'--ws-auth',
			'capability-token',
			'--ws-token-file',
			fileWith(TOKEN),
		);
		expect(await statusOf(client, 'free', ask(port, TOKEN))).toBe('101');
		expect(await statusOf(client, 'held', ask(port, TOKEN), WITH_NETWORK)).toBe('403');
	});

	test('a socket in the file system does not help, with or without a network', async () => {
		const path = join(scratchDirectory(), 'x.sock');
		await new Command(['serve', '--sandbox-enforcer', enforcer, '--listen', `unix:${path}`]).url();
		const client = await new TestClient(await connectUnixSocket(path)).initialize();
		expect(await statusOf(client, 'free', ask(path))).toBe('101');
		expect(await statusOf(client, 'held', ask(path), WITH_NETWORK)).not.toBe('101');
		const without = {sandbox: policy([root('read')], {cwd: 'file:///'})};
		expect(await statusOf(client, 'offline', ask(path), without)).not.toBe('101');
	});
});

test('a server forwards no connection to itself', async () => {
	const {client, port} = await served('--allow-forward', 'any');
	for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1', '0.0.0.0']) {
		const opened = client.call('forward/open', {forwardId: host, host, port: Number(port)});
		await expect(opened).rejects.toThrow('this server forwards no connections to itself');
	}
});
