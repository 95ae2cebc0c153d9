import {connect, createServer, type Socket} from 'node:net';
import {onTestFinished} from 'vitest';

/** After `afterBytes` the proxy stalls for good, or closes the connection once. */
export interface CutProxyOptions {
	readonly target: string;
	readonly afterBytes: number;
	readonly effect: 'stall' | 'cut';
	/** The direction whose bytes are counted. */
	readonly direction: 'up' | 'down';
}

export interface CutProxy {
	readonly url: string;
	/** Settles when it has stalled or cut. */
	readonly reached: Promise<void>;
	/** Passes on everything of new connections. */
	release(): void;
}

/** A TCP proxy in front of a server; gone with the test. */
export async function cutProxy({target, afterBytes, effect, direction}: CutProxyOptions): Promise<CutProxy> {
	const {hostname, port} = new URL(target);
	let passed = 0;
	let isOver = false;
	let isReleased = false;
	let reach!: () => void;
	const reached = new Promise<void>(resolve => {
		reach = resolve;
	});
	const sockets = new Set<Socket>();
	const keep = (socket: Socket): Socket => {
		sockets.add(socket);
		return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
	};
	const server = createServer(client => {
		const upstream = connect(Number(port), hostname);
		keep(client).on('close', () => upstream.destroy());
		keep(upstream).on('close', () => client.destroy());
		const [from, to] = direction === 'up' ? [client, upstream] : [upstream, client];
		to.pipe(from);
		from.on('data', chunk => {
			passed += chunk.length;
			if (passed < afterBytes || isReleased || (isOver && effect === 'cut')) {
				if (!to.write(chunk)) from.pause();
				return;
			}
			isOver = true;
			if (effect === 'stall') from.pause();
			else client.destroy();
			reach();
		});
		to.on('drain', () => void (isOver && effect === 'stall' && !isReleased ? undefined : from.resume()));
	});
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	return {
		url: `ws://127.0.0.1:${(server.address() as {port: number}).port}`,
		reached,
		release: () => {
			isReleased = true;
		},
	};
}

export interface CuttingProxy {
	readonly url: string;
	/** Connections that were closed so far. */
	cuts(): number;
}

/** A TCP proxy that closes every connection after some bytes, counted in both directions: in turn after each of these. */
export async function cuttingProxy(target: string, afterBytes: readonly number[]): Promise<CuttingProxy> {
	const {hostname, port} = new URL(target);
	const sockets = new Set<Socket>();
	let [connections, cuts] = [0, 0];
	const server = createServer(near => {
		const far = connect(Number(port), hostname);
		let left = afterBytes[connections++ % afterBytes.length]!;
		const end = () => {
			near.destroy();
			far.destroy();
		};
		for (const [from, to] of [
			[near, far],
			[far, near],
		] as const) {
			sockets.add(from);
			from.on('error', end).on('close', end);
			to.on('drain', () => from.resume());
			from.on('data', chunk => {
				if (left <= 0) return;
				left -= chunk.length;
				if (left > 0) {
					if (!to.write(chunk)) from.pause();
					return;
				}
				cuts++;
				end();
			});
		}
	});
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	return {url: `ws://127.0.0.1:${(server.address() as {port: number}).port}`, cuts: () => cuts};
}
