import {Worker} from 'node:worker_threads';
import {LongarmError} from '../../shared/errors.js';
import {workerFile} from '../../shared/node/worker-file.js';
import {preferredCalls} from '../syscalls.js';
import {ignoring} from '../watch/ignored.js';
import {compileContents, compileNames, type SearchRequest} from './query.js';
import type {FromWorker, SearchError, SearchMatch, SearchSummary} from './search-messages.js';

/** Searches that run at once; more wait. A thread each, so few are enough. */
const MAX_RUNNING_SEARCHES = 2;
/** An expression can take for ever; a search may not. */
const MAX_SEARCH_MS = 10 * 60_000;

export interface SearchRunOutcome extends SearchSummary {
	readonly cancelled: boolean;
}

interface Running {
	readonly worker: Worker;
	readonly timer: NodeJS.Timeout;
}

let running = 0;
const waiting: (() => void)[] = [];

/**
 * One search in a thread of its own. `found` gets what was found, batch by batch, and is waited for: whoever takes
 * slowly makes the search slow, not the memory large.
 */
export class SearchRun {
	readonly outcome: Promise<SearchRunOutcome>;
	readonly #query: SearchRequest;
	readonly #found: (matches: readonly SearchMatch[]) => Promise<void>;
	/** How many batches the thread has sent and nobody has taken. */
	readonly #unconfirmed = new Int32Array(new SharedArrayBuffer(4));
	#told = {files: 0, matches: 0, truncated: true, errors: []} as SearchSummary;
	#running: Running | undefined;
	#cancelled = false;
	#settle!: (outcome: SearchRunOutcome) => void;
	#fail!: (error: Error) => void;

	/** Throws when there is nothing at the root or a pattern cannot be used. */
	static async begin(
		query: SearchRequest,
		found: (matches: readonly SearchMatch[]) => Promise<void>,
	): Promise<SearchRun> {
		requireUsable(query);
		await preferredCalls().stat(query.root);
		return new SearchRun(query, found);
	}

	private constructor(query: SearchRequest, found: (matches: readonly SearchMatch[]) => Promise<void>) {
		this.#query = query;
		this.#found = found;
		this.outcome = new Promise((resolve, reject) => {
			this.#settle = resolve;
			this.#fail = reject;
		});
		if (running < MAX_RUNNING_SEARCHES) this.#run();
		else waiting.push(() => this.#run());
	}

	/** What was found so far is kept. */
	cancel(): void {
		this.#cancelled = true;
		this.#end(this.#told);
	}

	#run(): void {
		if (this.#cancelled) {
			next();
			return;
		}
		running++;
		const worker = new Worker(workerFile('search-worker.js', import.meta.url), {
			workerData: {query: this.#query, unconfirmed: this.#unconfirmed},
		});
		const timer = setTimeout(() => this.#end({...this.#told, errors: [tooLong(this.#query)]}), MAX_SEARCH_MS).unref();
		this.#running = {worker, timer};
		// One after the other: the end must not overtake what was found before.
		let taken = Promise.resolve();
		worker.on('message', (message: FromWorker) => {
			taken = taken.then(() => this.#take(message)).catch((error: unknown) => this.#failWith(error));
		});
		worker.on('error', error => this.#failWith(error));
	}

	#failWith(cause: unknown): void {
		this.#stop();
		const reason = cause instanceof Error ? cause.message : String(cause);
		this.#fail(new LongarmError('FILE_FAILED', {message: `the search failed: ${reason}`, cause}));
	}

	async #take(message: FromWorker): Promise<void> {
		if (message.kind === 'done') {
			this.#end(message.summary);
			return;
		}
		if (!this.#running) return;
		await this.#found(message.matches);
		this.#told = {...this.#told, matches: this.#told.matches + message.matches.length};
		Atomics.sub(this.#unconfirmed, 0, 1);
		Atomics.notify(this.#unconfirmed, 0);
	}

	#end(summary: SearchSummary): void {
		this.#stop();
		this.#settle({...summary, cancelled: this.#cancelled});
	}

	#stop(): void {
		if (!this.#running) return;
		const {worker, timer} = this.#running;
		this.#running = undefined;
		clearTimeout(timer);
		void worker.terminate();
		running--;
		next();
	}
}

function tooLong({root}: SearchRequest): SearchError {
	return {path: root, message: `the search was ended after ${MAX_SEARCH_MS / 60_000} minutes`};
}

function next(): void {
	if (running < MAX_RUNNING_SEARCHES) waiting.shift()?.();
}

/** Here and not in the thread, so that the one who asks is told at once. */
function requireUsable({names, exclude, contents}: SearchRequest): void {
	compileNames(names);
	ignoring(exclude);
	if (contents) compileContents(contents);
}
