import {randomId} from '../../../shared/random-id.js';
import type {SessionClient} from '../../session/session-client.js';
import {disconnected} from '../file-error.js';
import type {Watch, WatchOptions} from '../files.js';
import {sandboxMember} from '../sandbox-context.js';
import {WatchStream} from '../streams/watch-stream.js';
import {ConnectionCalls} from './connection-calls.js';

/** Listens before it asks: the first changes may come with the answer. */
export async function remoteWatch(client: SessionClient, path: string, options: WatchOptions): Promise<Watch> {
	const {recursive = true, ignore = [], signal} = options;
	signal?.throwIfAborted();
	const watchId = randomId();
	const calls = new ConnectionCalls(client, error => feed.fail(disconnected(path, error)));
	const stopListening = client.on('fs/changed', news => {
		if (news.watchId === watchId) feed.tell(news);
	});
	const feed: WatchStream = new WatchStream(path, signal, () => {
		stopListening();
		calls.release('fs/unwatch', {watchId});
	});
	try {
		await calls.call('fs/watch', {watchId, path, recursive, ignore: [...ignore], ...sandboxMember(options)});
	} catch (error) {
		await feed.return();
		throw error;
	}
	// The end of a watch that was aborted meanwhile may have overtaken its beginning.
	if (signal?.aborted) calls.release('fs/unwatch', {watchId});
	signal?.throwIfAborted();
	return feed;
}
