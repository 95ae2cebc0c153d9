import {AsyncQueue} from '../../../shared/async/async-queue.js';
import {onAbort} from '../../../shared/async/on-abort.js';
import {FileError} from '../file-error.js';
import type {Changes, FileChange, Watch} from '../files.js';

/** Changes that may wait to be taken; more than that is an overflow. */
export const MAX_WAITING_CHANGES = 16_384;

export interface News extends Changes {
	/** Why nothing more will come. */
	readonly ended?: string | null | undefined;
}

/** What a watch has told and nobody has taken yet: bounded, because whoever watches may be slow. */
export class WatchStream implements Watch {
	readonly #path: string;
	readonly #feed: AsyncQueue<Changes>;
	/** Changes that were told and not taken yet. */
	#waiting = 0;

	/** `stopped` comes once, when nothing more is wanted or will come. */
	constructor(path: string, signal: AbortSignal | undefined, stopped: () => void) {
		this.#path = path;
		let stopListening: (() => void) | undefined;
		this.#feed = new AsyncQueue(() => {
			stopListening?.();
			stopped();
		});
		stopListening = onAbort(signal, reason => this.fail(reason));
	}

	get isOver(): boolean {
		return this.#feed.isClosed;
	}

	tell({changes, overflow, ended}: News): void {
		if (this.#waiting + changes.length > MAX_WAITING_CHANGES) {
			this.#feed.clear();
			this.#waiting = 0;
			this.#push([], true);
		} else if (changes.length > 0 || overflow) {
			this.#push(changes, overflow);
		}
		if (ended !== undefined && ended !== null) {
			this.fail(new FileError('ended', `the watch has ended: ${ended}`, {path: this.#path}));
		}
	}

	fail(error: unknown): void {
		this.#feed.fail(error);
	}

	async next(): Promise<IteratorResult<Changes>> {
		const next = await this.#feed.next();
		if (!next.done) this.#waiting = Math.max(0, this.#waiting - next.value.changes.length);
		return next;
	}

	return(): Promise<IteratorResult<Changes>> {
		return this.#feed.return();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.return();
	}

	#push(changes: readonly FileChange[], overflow: boolean): void {
		this.#waiting += changes.length;
		this.#feed.push({changes, overflow});
	}
}
