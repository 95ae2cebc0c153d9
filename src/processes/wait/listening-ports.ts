// Linux only: the kernel's tables of TCP sockets.
import {readFile} from 'node:fs/promises';
import {LongarmError} from '../../shared/errors.js';

/** Interval between looks at the tables while somebody waits for a port. */
const PORT_INTERVAL_MS = 50;
/** Longer pause where the tables are long, in multiples of the time a look took. */
const PAUSE_FACTOR = 9;
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Local address with its port, a peer without one, and the state: a socket that listens. */
const LISTENING = /: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:0000 0A /g;

export interface PortListener {
	listening(): void;
	failed(error: LongarmError): void;
}

/** Ports that somebody waits for; all waits share one look. */
const watched = new Map<number, Set<PortListener>>();
let timer: NodeJS.Timeout | undefined;

/** TCP ports of this machine that a program listens on. Rejects with NOT_SUPPORTED where that cannot be told. */
export async function readListeningPorts(): Promise<ReadonlySet<number>> {
	const texts = await Promise.all(TABLES.map(readTable));
	return new Set(texts.flatMap(text => [...text.matchAll(LISTENING)].map(([, port]) => Number.parseInt(port!, 16))));
}

async function readTable(path: string): Promise<string> {
	try {
		return await readFile(path, 'latin1');
	} catch (cause) {
		// Machines without IPv6 have no second table.
		if (path !== TABLES[0]) return '';
		throw new LongarmError('NOT_SUPPORTED', {message: 'this executor cannot tell which ports are listened on', cause});
	}
}

/** Calls back when a program listens on the port, and again while one does, until the returned function is called. */
export function watchPort(port: number, listener: PortListener): () => void {
	const listeners = watched.get(port) ?? new Set();
	watched.set(port, listeners.add(listener));
	timer ??= setTimeout(lookAtPorts, 0);
	return () => {
		listeners.delete(listener);
		if (listeners.size === 0 && watched.get(port) === listeners) watched.delete(port);
	};
}

function lookAtPorts(): void {
	const startedAt = performance.now();
	readListeningPorts()
		.then(
			open =>
				tellListeners(
					port => open.has(port),
					listener => listener.listening(),
				),
			(error: LongarmError) =>
				tellListeners(
					() => true,
					listener => listener.failed(error),
				),
		)
		.finally(() => {
			const pauseMs = Math.max(PORT_INTERVAL_MS, (performance.now() - startedAt) * PAUSE_FACTOR);
			timer = watched.size === 0 ? undefined : setTimeout(lookAtPorts, pauseMs);
		});
}

function tellListeners(isMeant: (port: number) => boolean, tell: (listener: PortListener) => void): void {
	for (const [port, listeners] of watched) {
		if (isMeant(port)) for (const each of listeners) tell(each);
	}
}
