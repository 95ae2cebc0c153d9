import {toUriText} from '../../adapters/file-paths.js';
import {FileError} from '../../client/files/file-error.js';
import type {MissingWatch as MissingWatchHandle, Watch, WatchOptions} from '../../client/files/files.js';
import {WatchStream} from '../../client/files/streams/watch-stream.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {MissingPathsWatch, type MissingRequest} from '../../filesystem/watch/missing-watch.js';
import type {TreeWatch} from '../../filesystem/watch/tree-watch.js';
import {Deferred} from '../../shared/async/deferred.js';
import {onAbort} from '../../shared/async/on-abort.js';

/** Changes handed over at a time. */
const CHANGES_AT_A_TIME = 1000;

export async function localWatch(path: BytePath, options: WatchOptions): Promise<Watch> {
	const {recursive = true, ignore = [], signal} = options;
	signal?.throwIfAborted();
	// Loaded when it is needed: few programs watch.
	const {TreeWatch: Watching} = await import('../../filesystem/watch/tree-watch.js');
	let tree: TreeWatch | undefined;
	const feed = new WatchStream(toUriText(path), signal, () => tree?.end());
	const tell = () => {
		for (let news = tree?.take(CHANGES_AT_A_TIME); news; news = tree?.take(CHANGES_AT_A_TIME)) {
			const {changes, overflow, ended} = news;
			feed.tell({changes: changes.map(({path: changed, kind}) => ({path: toUriText(changed), kind})), overflow, ended});
		}
	};
	try {
		tree = await Watching.begin(path, {recursive, ignore}, tell);
	} catch (error) {
		await feed.return();
		throw error;
	}
	if (feed.isClosed) tree.end();
	signal?.throwIfAborted();
	// Changes seen during the setup were not reported yet.
	tell();
	return feed;
}

/** One watch for missing paths at a time, as on other machines. */
export class LocalMissingWatches {
	#replace: () => void = () => {};

	async begin(request: MissingRequest, signal: AbortSignal | undefined): Promise<MissingWatchHandle> {
		signal?.throwIfAborted();
		const path = toUriText(request.missing[0] ?? ('/' as BytePath));
		const changed = new Deferred();
		const watch = await MissingPathsWatch.begin(request, changed.resolve);
		if (!watch) return {watching: false};
		const stopListening = onAbort(signal, changed.reject);
		const stop = () => {
			stopListening();
			watch.end();
		};
		changed.promise.then(stop, stop);
		this.#replace();
		this.#replace = () =>
			changed.reject(new FileError('ended', 'a later watch has taken the place of this one', {path}));
		return {watching: true, changed: changed.promise};
	}
}
