import type {ManagedProcess} from '../processes/managed-process.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {LongarmError} from '../shared/errors.js';
import type {ClientConnection} from './connection/client-connection.js';

/** Shutdown waits this long for killed processes to be reaped. */
export const REAP_TIMEOUT_MS = 2000;
/** Shutdown waits this long for clients to read the last output of their processes. */
export const OUTPUT_DRAIN_TIMEOUT_MS = 1000;
/** How often a server that retires looks at its clients. */
const CHECK_MS = 100;
/** A client that has neither run nor asked anything for so long is not waited for. */
export const RETIRED_CLIENT_MS = 5000;

/** Progress of a server to its end: it refuses new clients, then new processes. */
export class Drain {
	#refuses: 'nothing' | 'sessions' | 'processes' = 'nothing';

	get isBegun(): boolean {
		return this.#refuses !== 'nothing';
	}

	refuseSessions(): void {
		if (this.#refuses === 'nothing') this.#refuses = 'sessions';
	}

	refuseProcesses(): void {
		this.#refuses = 'processes';
	}

	/** Throws `SHUTTING_DOWN`. */
	requireProcesses(): void {
		if (this.#refuses !== 'processes') return;
		throw shuttingDownError('the server is about to end and starts no more processes');
	}
}

/** Settles when no process runs that would end with the server, and every client has left or is idle, after `limitMs` at the latest. */
export async function whenUnused(
	server: {readonly clients: Iterable<ClientConnection>; readonly processes: () => Iterable<ManagedProcess>},
	limitMs: number,
): Promise<void> {
	const deadline = performance.now() + limitMs;
	const busyAt = new WeakMap<ClientConnection, number>();
	for (let now = performance.now(); now < deadline; now = performance.now()) {
		let isUsed = Array.from(server.processes()).some(({isAlive, options}) => isAlive && !options.isDurable);
		for (const client of server.clients) {
			if (client.isRunningProcesses || !client.isQuiet || !busyAt.has(client)) busyAt.set(client, now);
			if (now - busyAt.get(client)! < RETIRED_CLIENT_MS) isUsed = true;
		}
		if (!isUsed) return;
		await waitAtMost(new Promise(() => {}), Math.min(CHECK_MS, deadline - now));
	}
}

export function shuttingDownError(message: string): LongarmError {
	return new LongarmError('SHUTTING_DOWN', {message});
}
