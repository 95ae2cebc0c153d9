// covers: src/transports/node/relay/rendezvous-socket.ts
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Duplex} from 'node:stream';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocket, WebSocketServer} from 'ws';
import {Deferred} from '../../../../src/shared/async/deferred.js';
import {openRendezvous, RendezvousSocket} from '../../../../src/transports/node/relay/rendezvous-socket.js';

const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const SILENT = {message() {}, text() {}, drained() {}};

/** A server whose upgrades the test answers; its address. */
async function upgrading(answer: (key: string, socket: Duplex) => void): Promise<string> {
	const server = createServer().on('upgrade', ({headers}, socket) => {
		onTestFinished(() => void socket.destroy());
		answer(headers['sec-websocket-key']!, socket);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	onTestFinished(() => void server.close());
	return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Both ends of a WebSocket: that of a server as a rendezvous socket, with the code it was closed by, and a plain client. */
async function joined(): Promise<{near: RendezvousSocket; code: Promise<number>; far: WebSocket}> {
	const server = new WebSocketServer({host: '127.0.0.1', port: 0});
	onTestFinished(() => server.close());
	await once(server, 'listening');
	const far = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
	onTestFinished(() => far.terminate());
	const [webSocket] = (await once(server, 'connection')) as [WebSocket];
	const code = new Deferred<number>();
	webSocket.on('close', code.resolve);
	const near = new RendezvousSocket(webSocket, 'far', {...SILENT, closed: () => {}});
	if (far.readyState !== far.OPEN) await once(far, 'open');
	return {near, code: code.promise, far};
}

test('a frame that comes with the answer to the upgrade is not lost', async () => {
	const url = await upgrading((key, socket) => {
		const accept = createHash('sha1').update(`${key}${KEY_SUFFIX}`).digest('base64');
		const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
		const head = [...lines, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n');
		socket.write(Buffer.concat([Buffer.from(head), Buffer.from([0x82, 2, 7, 8])]));
	});
	const received = new Deferred<Uint8Array>();
	const webSocket = await openRendezvous(url);
	const socket = new RendezvousSocket(webSocket, 'relay', {
		...SILENT,
		message: received.resolve,
		closed: () => received.reject(new Error('closed')),
	});
	onTestFinished(() => socket.destroy());
	// The frame that came first is missing if another one arrives in its place.
	expect([...(await received.promise)]).toEqual([7, 8]);
});

test('a socket that is closed while it is not read sees the answer of its peer', async () => {
	const {near, code, far} = await joined();
	near.pause();
	near.close(1001);
	await once(far, 'close');
	expect(await code).toBe(1001);
});

test('a peer that does not answer to a close is left', async () => {
	const {near, code, far} = await joined();
	far.pause();
	near.close(1001);
	expect(await code).toBe(1006);
}, 20_000);
