// covers: src/rpc/rpc-connection.ts (malformed messages)
import {PassThrough} from 'node:stream';
import {expect, test} from 'vitest';
import {RpcConnection} from '../../src/rpc/rpc-connection.js';
import {StdioTransport} from '../../src/transports/node/stdio.js';
import type {Transport} from '../../src/transports/transport.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {clientTransport, connected, listening, underlyingSocket} from '../helpers/serving.js';
import {linked} from './linked.js';

function echoing(transport: Transport): RpcConnection {
	const connection = new RpcConnection(transport, 'server', {request: ({params}) => params, notification: () => true});
	connection.open();
	return connection;
}

test.each([
	['[]', 'expected a JSON-RPC object'],
	['[{"id":1,"method":"m"}]', 'expected a JSON-RPC object'],
	['7', 'expected a JSON-RPC object'],
	['null', 'expected a JSON-RPC object'],
	['{}', 'missing field `error`'],
	['{"id":5}', 'missing field `error`'],
	['{"result":1}', 'missing field `id`'],
	['{"id":1,"method":"m","method":"n"}', 'duplicate JSON object key `method`'],
	['{"id":null,"method":"m"}', 'invalid request id, expected a string or a 64-bit integer'],
])('a server answers %s with id -1 and goes on', async (text, reason) => {
	const {peer} = linked('server', {request: () => 'fine'});
	expect(await peer.ask(text)).toEqual({
		id: -1,
		error: {code: -32600, message: `failed to parse JSON-RPC message from exec-server memory: ${reason}`},
	});
	expect(await peer.ask({id: 1, method: 'm'})).toEqual({id: 1, result: 'fine'});
});

test('over a WebSocket the answer names the address of the peer', async () => {
	const url = await listening(echoing);
	const socket = await connected(url);
	const peer = new RawPeer(clientTransport(socket));
	const {localAddress, localPort} = underlyingSocket(socket);
	const from = `exec-server websocket ${localAddress}:${localPort}`;
	expect(await peer.ask('[]')).toEqual({
		id: -1,
		error: {
			code: -32600,
			message: `failed to parse websocket JSON-RPC message from ${from}: expected a JSON-RPC object`,
		},
	});
	socket.send(Buffer.from([0x7b, 0xff, 0x7d]));
	expect(await peer.next()).toEqual({
		id: -1,
		error: {code: -32600, message: `failed to parse websocket JSON-RPC message from ${from}: invalid UTF-8`},
	});
	expect(await peer.ask({id: 1, method: 'm', params: 'fine'})).toEqual({id: 1, result: 'fine'});
});

test('an empty WebSocket message is malformed too', async () => {
	const url = await listening(echoing);
	const peer = new RawPeer(clientTransport(await connected(url)));
	peer.transport.send('');
	expect(await peer.next()).toMatchObject({id: -1, error: {code: -32600}});
});

test('over stdio the answer says so', async () => {
	const [toServer, toClient] = [new PassThrough(), new PassThrough()];
	echoing(new StdioTransport(toServer, toClient));
	const peer = new RawPeer(new StdioTransport(toClient, toServer));
	expect(await peer.ask('{"method":5}')).toEqual({
		id: -1,
		error: {
			code: -32600,
			message: 'failed to parse JSON-RPC message from exec-server stdio: invalid type for `method`, expected a string',
		},
	});
	expect(await peer.ask({id: 1, method: 'm', params: 'fine'})).toEqual({id: 1, result: 'fine'});
});

test('a client takes what it cannot read for a broken link', async () => {
	const {connection, peer} = linked('client');
	const call = connection.request('m', {});
	await peer.next();
	peer.send('{"id":1');
	await expect(call).rejects.toThrow(
		/^exec-server transport disconnected: failed to parse JSON-RPC message from exec-server memory: \S/,
	);
	await peer.untilClosed();
	expect([connection.isClosed, peer.texts.length]).toEqual([true, 1]);
});

test('a client does not look at what stands behind a message it cannot read', async () => {
	const {connection, peer} = linked('client');
	const call = connection.request('m', {});
	peer.send('no json');
	peer.send({id: 1, result: 'too late'});
	await expect(call).rejects.toThrow('exec-server transport disconnected');
});
