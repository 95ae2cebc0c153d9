import {randomId} from '../../../shared/random-id.js';
import type {SessionClient} from '../../session/session-client.js';
import {disconnected} from '../file-error.js';
import type {Watch, WatchOptions} from '../files.js';
import {sandboxMember} from '../sandbox-context.js';
import {WatchStream} from '../streams/watch-stream.js';
import {ConnectionCalls} from './connection-calls.js';

/** Subscribes before the request: the first changes may arrive with the reply. */
export async function remoteWatch(client: SessionClient, path: string, options: WatchOptions): Promise<Watch> {
	const {recursive = true, ignore = [], signal} = options;
	signal?.throwIfAborted();
	const watchId = randomId();
	const calls = new ConnectionCalls(client, error => stream.fail(disconnected(path, error)));
	const stopListening = client.on('fs/changed', news => {
		if (news.watchId === watchId) stream.tell(news);
	});
	const stream: WatchStream = new WatchStream(path, signal, () => {
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
