import type {Params} from '../../../protocol/methods/method-table.js';
import {AsyncQueue} from '../../../shared/async/async-queue.js';
import {onAbort} from '../../../shared/async/on-abort.js';
import {FileError} from '../file-error.js';
import type {Changes, FileChange, Watch} from '../files.js';
import {withNativePath} from '../native-entry.js';

/** Changes in the queue; more than that is an overflow. */
export const MAX_WAITING_CHANGES = 16_384;

export interface News {
	readonly changes: Params<'fs/changed'>['changes'];
	readonly overflow: boolean;
	/** Why the watch ended. */
	readonly ended?: string | null | undefined;
}

/** Bounded queue of changes: a slow reader gets an overflow instead. */
export class WatchStream implements Watch {
	readonly #path: string;
	readonly #queue: AsyncQueue<Changes>;
	/** Changes in the queue. */
	#queued = 0;

	/** `stopped` is called once, when the watch ends or its reader leaves. */
	constructor(path: string, signal: AbortSignal | undefined, stopped: () => void) {
		this.#path = path;
		let stopListening: (() => void) | undefined;
		this.#queue = new AsyncQueue(() => {
			stopListening?.();
			stopped();
		});
		stopListening = onAbort(signal, reason => this.fail(reason));
	}

	get isClosed(): boolean {
		return this.#queue.isClosed;
	}

	tell({changes, overflow, ended}: News): void {
		if (this.#queued + changes.length > MAX_WAITING_CHANGES) {
			this.#queue.clear();
			this.#queued = 0;
			this.#push([], true);
		} else if (changes.length > 0 || overflow) {
			this.#push(changes.map(withNativePath), overflow);
		}
		if (ended !== undefined && ended !== null) {
			this.fail(new FileError('ended', `the watch has ended: ${ended}`, {path: this.#path}));
		}
	}

	fail(error: unknown): void {
		this.#queue.fail(error);
	}

	async next(): Promise<IteratorResult<Changes>> {
		const next = await this.#queue.next();
		if (!next.done) this.#queued = Math.max(0, this.#queued - next.value.changes.length);
		return next;
	}

	return(): Promise<IteratorResult<Changes>> {
		return this.#queue.return();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.return();
	}

	#push(changes: readonly FileChange[], overflow: boolean): void {
		this.#queued += changes.length;
		this.#queue.push({changes, overflow});
	}
}
