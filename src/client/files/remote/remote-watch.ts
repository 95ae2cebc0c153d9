import {Deferred} from '../../../shared/async/deferred.js';
import {holdProgram, holdProgramFor, releaseProgram} from '../../../shared/async/keep-alive.js';
import {onAbort} from '../../../shared/async/on-abort.js';
import {randomId} from '../../../shared/random-id.js';
import type {SessionClient} from '../../session/session-client.js';
import {disconnectedError, FileError} from '../file-error.js';
import type {MissingWatch, Watch, WatchOptions} from '../files.js';
import {sandboxMember} from '../sandbox-context.js';
import {WatchStream} from '../streams/watch-stream.js';
import {ConnectionCalls} from './connection-calls.js';

/** Subscribes before the request: the first changes may arrive with the reply. */
export async function remoteWatch(client: SessionClient, path: string, options: WatchOptions): Promise<Watch> {
	const {recursive = true, ignore = [], signal} = options;
	signal?.throwIfAborted();
	const watchId = randomId();
	const calls = new ConnectionCalls(client, error => stream.fail(disconnectedError(path, error)));
	const stopListening = client.on('fs/changed', news => {
		if (news.watchId === watchId) stream.tell(news);
	});
	holdProgram();
	const stream: WatchStream = new WatchStream(path, signal, () => {
		releaseProgram();
		stopListening();
		calls.release('fs/unwatch', {watchId});
	});
	try {
		await calls.call('fs/watch', {watchId, path, recursive, ignore: [...ignore], ...sandboxMember(options)});
	} catch (error) {
		await stream.return();
		throw error;
	}
	// The `fs/unwatch` of a watch that was aborted meanwhile may have overtaken its `fs/watch`.
	if (signal?.aborted) calls.release('fs/unwatch', {watchId});
	signal?.throwIfAborted();
	return stream;
}

export interface MissingPaths {
	readonly missing: readonly string[];
	readonly present: string | undefined;
	readonly signal: AbortSignal | undefined;
}

/** The server accepts only ids that are higher than all before. */
let lastWatchId = 0;
/** Rejects the current watch of a client; there is one at most. */
const replaceCurrent = new WeakMap<SessionClient, () => void>();

export async function remoteMissingWatch(client: SessionClient, paths: MissingPaths): Promise<MissingWatch> {
	const {missing, present, signal} = paths;
	signal?.throwIfAborted();
	const path = missing[0] ?? '';
	const watchId = ++lastWatchId;
	const change = new Deferred();
	const stops = [
		client.on('fs/missingChanged', news => {
			if (news.watchId === watchId) change.resolve();
		}),
		client.onDisconnect(error => change.reject(disconnectedError(path, error))),
		onAbort(signal, change.reject),
	];
	const stop = () => {
		for (const each of stops) each();
	};
	change.promise.then(stop, stop);
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
	replaceCurrent.get(client)?.();
	replaceCurrent.set(client, () =>
		change.reject(new FileError('ended', 'a later watch has taken the place of this one', {path})),
	);
	return {watching: true, changed: holdProgramFor(change.promise)};
}
