import {onAbort} from '../../../shared/async/on-abort.js';
import type {SessionClient} from '../../session/session-client.js';
import {disconnected, FileError} from '../file-error.js';
import type {MissingWatch} from '../files.js';

export interface MissingPaths {
	readonly missing: readonly string[];
	readonly present: string | undefined;
	readonly signal: AbortSignal | undefined;
}

/** The server takes an id only if it is higher than all before. */
let lastWatchId = 0;
/** Ends the watch of a client that is in place, of which there is one at most. */
const replacers = new WeakMap<SessionClient, () => void>();

export async function remoteMissingWatch(client: SessionClient, paths: MissingPaths): Promise<MissingWatch> {
	const {missing, present, signal} = paths;
	signal?.throwIfAborted();
	const path = missing[0] ?? '';
	const watchId = ++lastWatchId;
	let stop!: () => void;
	let replace!: () => void;
	const changed = new Promise<void>((resolve, reject) => {
		const stops = [
			client.on('fs/missingChanged', news => {
				if (news.watchId === watchId) resolve();
			}),
			client.onDisconnect(error => reject(disconnected(path, error))),
			onAbort(signal, reject),
		];
		stop = () => {
			for (const each of stops) each();
		};
		replace = () => reject(new FileError('ended', 'a later watch has taken the place of this one', {path}));
	});
	changed.then(
		() => stop(),
		() => stop(),
	);
	try {
		const {watching} = await client.call('fs/watchMissing', {watchId, missing: [...missing], present: present ?? null});
		if (!watching) {
			stop();
			return {watching};
		}
	} catch (error) {
		stop();
		throw error;
	}
	replacers.get(client)?.();
	replacers.set(client, replace);
	return {watching: true, changed};
}
