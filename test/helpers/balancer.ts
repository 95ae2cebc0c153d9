import {connect, createServer, type Socket} from 'node:net';
import {onTestFinished} from 'vitest';

/** What a balancer does with a connection: leads it to the server of a URL, or behaves as if that had died. */
export type Backend =
	| `http://${string}`
	/** Nobody listens there: the connection is closed without a word. */
	| 'closed'
	/** The connection is reset as soon as it sends something. */
	| 'reset'
	/** A balancer that speaks HTTP tells that it has no server. */
	| 'bad gateway';

export interface Balancer {
	/** For HTTP; sockets of relays go through it, too. */
	readonly url: string;
	/** Connections so far that were led to no server. */
	readonly missed: number;
}

/** A TCP balancer without a health check; `choose` is asked for each connection. Gone with the test. */
export async function balancer(choose: () => Backend): Promise<Balancer> {
	const sockets = new Set<Socket>();
	const keep = (socket: Socket): Socket => {
		sockets.add(socket);
		return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
	};
	let missed = 0;
	const server = createServer(near => {
		const backend = choose();
		keep(near);
		if (!backend.startsWith('http')) missed++;
		if (backend === 'closed') near.destroy();
		else if (backend === 'reset') near.once('data', () => near.resetAndDestroy());
		else if (backend === 'bad gateway') {
			near.once('data', () => near.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'));
		} else {
			const {hostname, port} = new URL(backend);
			const far = connect(Number(port), hostname);
			keep(far).on('close', () => near.destroy());
			near.on('close', () => far.destroy());
			near.pipe(far).pipe(near);
		}
	});
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	return {
		url: `http://127.0.0.1:${(server.address() as {port: number}).port}`,
		get missed() {
			return missed;
		},
	};
}

/** Chooses these in turn. */
export function inTurn(...backends: readonly Backend[]): () => Backend {
	let count = 0;
	return () => backends[count++ % backends.length]!;
}
