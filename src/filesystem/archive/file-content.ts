import {MAX_SYNC_BYTES} from '../read-file.js';
import {asyncCalls, type FileCalls} from '../syscalls.js';

/** Sequential reader that always fills the block, since a tar header announces the size: missing bytes become zeros. */
export class FileContent {
	readonly #calls: FileCalls;
	readonly #fd: number;
	readonly #onMissing: (reason: unknown) => void;
	#offset = 0;
	#isMissing = false;

	/** `onMissing` is called once, at the first missing byte. */
	constructor(calls: FileCalls, fd: number, onMissing: (reason: unknown) => void) {
		this.#calls = calls;
		this.#fd = fd;
		this.#onMissing = onMissing;
	}

	async fill(block: Buffer): Promise<void> {
		const calls = block.length < MAX_SYNC_BYTES ? this.#calls : asyncCalls;
		let length = 0;
		while (length < block.length && !this.#isMissing) {
			const got = await this.#read(calls, block.subarray(length));
			length += got;
			this.#offset += got;
		}
		block.fill(0, length);
	}

	async #read(calls: FileCalls, target: Buffer): Promise<number> {
		try {
			const got = await calls.read(this.#fd, target, this.#offset);
			if (got === 0) this.#reportMissing('shrank while it was read; zeros stand for what is missing');
			return got;
		} catch (error) {
			this.#reportMissing(error);
			return 0;
		}
	}

	#reportMissing(reason: unknown): void {
		this.#isMissing = true;
		this.#onMissing(reason);
	}
}
