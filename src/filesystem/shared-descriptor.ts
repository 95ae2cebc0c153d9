import {preferredCalls} from './syscalls.js';

/**
 * A descriptor that several operations use at a time. Closing waits for them: the number of a closed descriptor is
 * given to the next file that is opened, and a late write would end up there.
 */
export class SharedDescriptor {
	readonly #fd: number;
	#uses = 0;
	#closing: {readonly closed: Promise<void>; readonly close: () => void} | undefined;

	constructor(fd: number) {
		this.#fd = fd;
	}

	async use<T>(operation: (fd: number) => T | Promise<T>): Promise<T> {
		this.#uses++;
		try {
			return await operation(this.#fd);
		} finally {
			this.#uses--;
			if (this.#uses === 0) this.#closing?.close();
		}
	}

	/** New operations have to be kept away by the owner. Fails when the system could not keep what was written. */
	close(): Promise<void> {
		this.#closing ??= this.#prepareToClose();
		if (this.#uses === 0) this.#closing.close();
		return this.#closing.closed;
	}

	#prepareToClose(): {closed: Promise<void>; close: () => void} {
		let close!: () => void;
		const unused = new Promise<void>(resolve => {
			close = resolve;
		});
		return {close, closed: unused.then(() => preferredCalls().close(this.#fd))};
	}
}
