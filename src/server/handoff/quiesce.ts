import {setTimeout as sleep} from 'node:timers/promises';
import type {ProcessTable} from '../../processes/process-table.js';
import type {ClientConnection} from '../connection/client-connection.js';

const POLL_INTERVAL_MS = 2;

/** Connections and processes that come to rest. */
export interface Busy {
	readonly clients: ReadonlySet<ClientConnection>;
	readonly tables: ReadonlySet<ProcessTable>;
}

export interface Rest {
	/** Whether nothing was on its way any more; otherwise the time was over before. */
	readonly isQuiet: boolean;
	/** Whether all output that was taken from the kernel is in the logs; if not, it would be lost. */
	readonly isOutputKept: boolean;
	/** Everything goes on as before. */
	readonly resume: () => void;
}

/**
 * Reads neither requests nor output any more and waits until requests are answered and clients have what was sent to them.
 * Processes run on: what they write stays in the kernel.
 */
export async function quiesce({clients, tables}: Busy, limitMs: number): Promise<Rest> {
	const held = [...tables].flatMap(table => [...table]).map(process => process.holdOutput());
	const unread = [...clients].map(({rpc}) => rpc.holdReading());
	const resume = (): void => {
		for (const each of [...held, ...unread]) each();
	};
	const isOutputKept = (): boolean => [...tables].every(table => [...table].every(each => !each.isReadingOutput));
	const isQuiet = (): boolean =>
		[...clients].every(client => client.isQuiet) &&
		[...tables].every(table => [...table].every(({state}) => state.kind !== 'starting')) &&
		isOutputKept();
	const deadline = performance.now() + limitMs;
	while (!isQuiet() && performance.now() < deadline) await sleep(POLL_INTERVAL_MS);
	return {isQuiet: isQuiet(), isOutputKept: isOutputKept(), resume};
}
