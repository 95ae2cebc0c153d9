import {onTestFinished} from 'vitest';
import WebSocket from 'ws';
import {ExecServer} from '../../src/server/server.js';
import type {ServerOptions} from '../../src/server/options.js';
import {listen} from '../../src/transports/node/listener.js';
import {WebSocketTransport} from '../../src/transports/node/web-socket.js';
import type {Transport} from '../../src/transports/transport.js';
import {RawPeer} from './raw-peer.js';

/** A listener on a free loopback port that hands every connection to `accept`; closed with the test. */
export async function listening(accept: (transport: Transport) => void): Promise<string> {
	const listener = await listen({host: '127.0.0.1', port: 0, accept});
	onTestFinished(() => listener.close());
	return listener.url;
}

export interface Serving {
	readonly server: ExecServer;
	readonly url: string;
}

/** A whole server on a free loopback port; shut down with the test. */
export async function serving(options: ServerOptions = {}): Promise<Serving> {
	const server = execServer(options);
	return {server, url: await listening(transport => server.accept(transport))};
}

/** A server that listens nowhere; shut down with the test. */
export function execServer(options: ServerOptions = {}): ExecServer {
	const server = new ExecServer(options);
	onTestFinished(() => server.shutdown(0));
	return server;
}

/** A WebSocket that is open; dropped with the test. */
export async function connected(url: string, options: WebSocket.ClientOptions = {}): Promise<WebSocket> {
	const socket = new WebSocket(url, {perMessageDeflate: false, ...options});
	onTestFinished(() => socket.terminate());
	await new Promise((resolve, reject) => {
		socket.once('open', resolve);
		socket.once('error', reject);
	});
	return socket;
}

/** The TCP socket below a WebSocket. */
export function below(socket: WebSocket): import('node:net').Socket {
	return (socket as unknown as {_socket: import('node:net').Socket})._socket;
}

export function clientTransport(socket: WebSocket): WebSocketTransport {
	return new WebSocketTransport(socket, below(socket), 'server');
}

/** A client that speaks raw messages over a real WebSocket. */
export async function rawPeer(url: string): Promise<RawPeer> {
	return new RawPeer(clientTransport(await connected(url)));
}
