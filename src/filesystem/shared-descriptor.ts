import {Deferred} from '../shared/async/deferred.js';
import {preferredCalls} from './syscalls.js';

/**
 * Reference-counted file descriptor. Closing waits for concurrent operations: the number of a closed descriptor is
 * reused for the next file, and a late write would end up there.
 */
export class SharedDescriptor {
	readonly #fd: number;
	#uses = 0;
	readonly #unused = new Deferred();
	#closed: Promise<void> | undefined;

	constructor(fd: number) {
		this.#fd = fd;
	}

	async use<T>(operation: (fd: number) => T | Promise<T>): Promise<T> {
		this.#uses++;
		try {
			return await operation(this.#fd);
		} finally {
			this.#uses--;
			if (this.#uses === 0 && this.#closed) this.#unused.resolve();
		}
	}

	/** The owner must not start operations afterwards. Rejects if the system could not store what was written. */
	close(): Promise<void> {
		this.#closed ??= this.#unused.promise.then(() => preferredCalls().close(this.#fd));
		if (this.#uses === 0) this.#unused.resolve();
		return this.#closed;
	}
}
