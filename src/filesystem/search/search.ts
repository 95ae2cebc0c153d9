import type {Worker} from 'node:worker_threads';
import {Deferred} from '../../shared/async/deferred.js';
import {Mutex} from '../../shared/async/mutex.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {startWorker} from '../../shared/node/worker-file.js';
import {preferredCalls} from '../syscalls.js';
import {compileIgnoreRules} from '../watch/ignored.js';
import {compileContents, compileNames, type SearchRequest} from './query.js';
import type {FromWorker, SearchError, SearchMatch, SearchSummary} from './search-messages.js';
import {MAX_HELD_MS, type SearchOwner, SearchQueue} from './search-queue.js';

/** Characters of all globs for names, of all excluded patterns, and of the pattern for lines. */
const MAX_GLOB_CHARS = 16 * 1024;
const MAX_EXCLUDE_CHARS = 64 * 1024;
const MAX_CONTENTS_CHARS = 4096;

/** Time limit: a regular expression can run for ever. */
const MAX_SEARCH_MS = 10 * 60_000;

export interface SearchRunOutcome extends SearchSummary {
	readonly cancelled: boolean;
}

interface Running {
	readonly worker: Worker;
	readonly timer: NodeJS.Timeout;
}

const queue = new SearchQueue();

/**
 * Search in a worker thread. `onMatches` is called with one batch at a time and awaited: a slow consumer slows the
 * search down (back-pressure) instead of filling the memory.
 */
export class SearchRun {
	readonly outcome: Promise<SearchRunOutcome>;
	readonly #query: SearchRequest;
	readonly #onMatches: (matches: readonly SearchMatch[]) => Promise<void>;
	/** Number of batches that were sent by the worker and not consumed. */
	readonly #unconfirmed = new Int32Array(new SharedArrayBuffer(4));
	#progress = {files: 0, matches: 0, truncated: true, errors: []} as SearchSummary;
	#running: Running | undefined;
	readonly #leaveQueue: () => void;
	#isCancelled = false;
	readonly #outcome = new Deferred<SearchRunOutcome>();

	/** Throws if the root does not exist or a pattern is invalid. Owners share the threads evenly. */
	static async begin(
		query: SearchRequest,
		onMatches: (matches: readonly SearchMatch[]) => Promise<void>,
		owner: SearchOwner,
	): Promise<SearchRun> {
		requireValidPatterns(query);
		await preferredCalls(query.root).stat(query.root);
		return new SearchRun(query, onMatches, owner);
	}

	private constructor(
		query: SearchRequest,
		onMatches: (matches: readonly SearchMatch[]) => Promise<void>,
		owner: SearchOwner,
	) {
		this.#query = query;
		this.#onMatches = onMatches;
		this.outcome = this.#outcome.promise;
		this.#leaveQueue = queue.enter(owner, {
			start: () => this.#run(),
			giveUp: () => this.#endEarly(`after ${MAX_HELD_MS / 1000} seconds, because others waited for its thread`),
		});
	}

	/** Ends the search; the outcome counts the matches so far. */
	cancel(): void {
		this.#isCancelled = true;
		this.#end(this.#progress);
	}

	#run(): void {
		const worker = startWorker('search-worker.js', import.meta.url, {
			workerData: {query: this.#query, unconfirmed: this.#unconfirmed},
		});
		const timer = setTimeout(() => this.#endEarly(`after ${MAX_SEARCH_MS / 60_000} minutes`), MAX_SEARCH_MS).unref();
		this.#running = {worker, timer};
		// One message at a time: the end must not overtake earlier matches.
		const mutex = new Mutex();
		worker.on('message', (message: FromWorker) => {
			mutex.run(() => this.#handleMessage(message)).catch((error: unknown) => this.#failWith(error));
		});
		worker.on('error', error => this.#failWith(error));
	}

	#failWith(cause: unknown): void {
		this.#stop();
		const message = `the search failed: ${errorMessage(cause)}`;
		this.#outcome.reject(new LongarmError('FILE_FAILED', {message, cause}));
	}

	async #handleMessage(message: FromWorker): Promise<void> {
		if (message.kind === 'done') {
			this.#end(message.summary);
			return;
		}
		if (!this.#running) return;
		await this.#onMatches(message.matches);
		this.#progress = {...this.#progress, matches: this.#progress.matches + message.matches.length};
		Atomics.sub(this.#unconfirmed, 0, 1);
		Atomics.notify(this.#unconfirmed, 0);
	}

	#endEarly(why: string): void {
		const error: SearchError = {path: this.#query.root, message: `the search was ended ${why}`};
		this.#end({...this.#progress, errors: [error]});
	}

	#end(summary: SearchSummary): void {
		this.#stop();
		this.#outcome.resolve({...summary, cancelled: this.#isCancelled});
	}

	#stop(): void {
		if (this.#running) {
			const {worker, timer} = this.#running;
			this.#running = undefined;
			clearTimeout(timer);
			void worker.terminate();
		}
		this.#leaveQueue();
	}
}

/** Validates here and not in the worker, so that the request fails at once. */
function requireValidPatterns({names, exclude, contents}: SearchRequest): void {
	requireShort('globs', names, MAX_GLOB_CHARS);
	requireShort('excluded patterns', exclude, MAX_EXCLUDE_CHARS);
	if (contents) requireShort('pattern', [contents.pattern], MAX_CONTENTS_CHARS);
	compileNames(names);
	compileIgnoreRules(exclude);
	if (contents) compileContents(contents);
}

/** Patterns are read before anything else is done, which takes as long as they are. */
function requireShort(what: string, patterns: readonly string[], maxChars: number): void {
	// An empty one takes time, too.
	const chars = patterns.reduce((sum, pattern) => sum + pattern.length + 1, -1);
	if (chars <= maxChars) return;
	const message = `the ${what} of a search may have ${maxChars} characters, and have ${chars}`;
	throw new LongarmError('PATTERN_INVALID', {message});
}
