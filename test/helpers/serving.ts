import type {Socket} from 'node:net';
import {onTestFinished} from 'vitest';
import {type ClientOptions, WebSocket} from 'ws';
import type {ClientConnection} from '../../src/server/connection/client-connection.js';
import type {ServerOptions} from '../../src/server/options.js';
import {ExecServer} from '../../src/server/server.js';
import {listen} from '../../src/transports/node/listener.js';
import {WebSocketTransport} from '../../src/transports/node/web-socket.js';
import type {Transport} from '../../src/transports/transport.js';
import {RawPeer} from './raw-peer.js';
import {TestClient} from './test-client.js';

/** A listener on a free loopback port that hands every connection to `accept`; closed with the test. */
export async function listening(accept: (transport: Transport) => void): Promise<string> {
	const listener = await listen({host: '127.0.0.1', port: 0, accept});
	onTestFinished(() => listener.close());
	return listener.url;
}

export interface Serving {
	readonly server: ExecServer;
	readonly url: string;
	/** The server's ends of all connections so far. */
	readonly ends: ClientConnection[];
}

/** A whole server on a free loopback port; shut down with the test. */
export async function serving(options: ServerOptions = {}): Promise<Serving> {
	const server = execServer(options);
	const ends: ClientConnection[] = [];
	return {server, ends, url: await listening(transport => ends.push(server.accept(transport)))};
}

/** A client whose handshake is over, and the server's end of its connection. */
export async function join({url, ends}: Serving, resumeSessionId?: string): Promise<Joined> {
	const socket = await connected(url);
	const end = ends.at(-1)!;
	const client = await new TestClient(clientTransport(socket)).initialize(resumeSessionId);
	// `initialized` has no reply; the reply to the next request shows that it was read.
	await client.call('environment/status');
	return {client, end, socket: underlyingSocket(socket)};
}

export interface Joined {
	readonly client: TestClient;
	readonly end: ClientConnection;
	/** The client's TCP socket; paused, it makes the client one that does not read. */
	readonly socket: Socket;
}

/** A server that listens nowhere; shut down with the test. */
export function execServer(options: ServerOptions = {}): ExecServer {
	const server = new ExecServer(options);
	onTestFinished(() => server.shutdown(0));
	return server;
}

/** A WebSocket that is open; dropped with the test. */
export async function connected(url: string, options: ClientOptions = {}): Promise<WebSocket> {
	const socket = new WebSocket(url, {perMessageDeflate: false, ...options});
	onTestFinished(() => socket.terminate());
	await new Promise((resolve, reject) => {
		socket.once('open', resolve);
		socket.once('error', reject);
	});
	return socket;
}

/** The TCP socket below a WebSocket. */
export function underlyingSocket(socket: WebSocket): Socket {
	return (socket as unknown as {_socket: Socket})._socket;
}

export function clientTransport(socket: WebSocket): WebSocketTransport {
	return new WebSocketTransport(socket, underlyingSocket(socket), 'server', 'client');
}

/** A client that speaks raw messages over a real WebSocket. */
export async function rawPeer(url: string): Promise<RawPeer> {
	return new RawPeer(clientTransport(await connected(url)));
}
