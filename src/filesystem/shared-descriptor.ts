import {closeSync} from 'node:fs';

/**
 * A descriptor that several operations use at a time. Closing waits for them: the number of a closed descriptor is
 * given to the next file that is opened, and a late write would end up there.
 */
export class SharedDescriptor {
	readonly #fd: number;
	#uses = 0;
	#closing = false;

	constructor(fd: number) {
		this.#fd = fd;
	}

	get isClosed(): boolean {
		return this.#closing;
	}

	async use<T>(operation: (fd: number) => T | Promise<T>): Promise<T> {
		this.#uses++;
		try {
			return await operation(this.#fd);
		} finally {
			this.#uses--;
			if (this.#closing) this.#closeWhenUnused();
		}
	}

	/** New operations have to be kept away by the owner. */
	close(): void {
		if (this.#closing) return;
		this.#closing = true;
		this.#closeWhenUnused();
	}

	#closeWhenUnused(): void {
		if (this.#uses === 0) closeSync(this.#fd);
	}
}
