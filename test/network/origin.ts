import {createServer, type IncomingMessage, type RequestListener, type Server} from 'node:http';
import {type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer} from 'node:net';
import {onTestFinished} from 'vitest';

export interface Seen {
	readonly method: string;
	readonly url: string;
	/** Names and values in turn, as they came. */
	readonly rawHeaders: string[];
	readonly headers: IncomingMessage['headers'];
	readonly body: string;
}

export interface Origin {
	readonly url: string;
	readonly port: number;
	/** Every request so far, once its body was complete. */
	readonly seen: Seen[];
	/** Every connection so far. */
	readonly sockets: Socket[];
	readonly server: Server;
}

/** A real HTTP server on a free loopback port; gone with the test. */
export async function origin(
	listener: RequestListener = (_, response) => response.end('ok'),
	host = '127.0.0.1',
): Promise<Origin> {
	const seen: Seen[] = [];
	const server = createServer((request, response) => {
		const chunks: Buffer[] = [];
		request.on('data', (chunk: Buffer) => chunks.push(chunk));
		request.on('end', () => {
			const {method, url, rawHeaders, headers} = request;
			seen.push({method: method!, url: url!, rawHeaders, headers, body: Buffer.concat(chunks).toString()});
			listener(request, response);
		});
	});
	const {port, sockets} = await bound(server, host);
	return {url: `http://127.0.0.1:${port}`, port, seen, sockets, server};
}

/** The same without HTTP, for origins that get it wrong. */
export async function rawOrigin(
	serve: (socket: Socket) => void,
): Promise<{url: string; port: number; sockets: Socket[]}> {
	const server = createTcpServer({allowHalfOpen: true}, socket => {
		socket.on('error', () => {});
		serve(socket);
	});
	const {port, sockets} = await bound(server);
	return {url: `http://127.0.0.1:${port}`, port, sockets};
}

/** Sends back all bytes it receives. */
export const echo = (socket: Socket): void => void socket.pipe(socket);

/** Answers every request with these bytes, once its head is complete. */
export function answering(text: string, after: (socket: Socket) => void = () => {}): (socket: Socket) => void {
	return socket => {
		socket.on('data', chunk => {
			if (chunk.includes('\r\n\r\n')) socket.write(text, 'latin1', () => after(socket));
		});
	};
}

async function bound(server: Server | TcpServer, host = '127.0.0.1'): Promise<{port: number; sockets: Socket[]}> {
	const sockets: Socket[] = [];
	server.on('connection', (socket: Socket) => sockets.push(socket));
	await new Promise<void>(resolve => server.listen(0, host, resolve));
	onTestFinished(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	return {port: (server.address() as AddressInfo).port, sockets};
}
