import {QUICK_BYTES} from '../read-file.js';
import {asyncCalls, type FileCalls} from '../syscalls.js';

/** Reads a file from front to back, exactly as many bytes as are asked for: what is no longer there is zeros. */
export class FileContent {
	readonly #calls: FileCalls;
	readonly #fd: number;
	readonly #complain: (reason: unknown) => void;
	#offset = 0;
	#lost = false;

	/** `complain` is told once, when the first byte is missing. */
	constructor(calls: FileCalls, fd: number, complain: (reason: unknown) => void) {
		this.#calls = calls;
		this.#fd = fd;
		this.#complain = complain;
	}

	async fill(block: Buffer): Promise<void> {
		const calls = block.length < QUICK_BYTES ? this.#calls : asyncCalls;
		let length = 0;
		while (length < block.length && !this.#lost) {
			const got = await this.#read(calls, block.subarray(length));
			length += got;
			this.#offset += got;
		}
		block.fill(0, length);
	}

	async #read(calls: FileCalls, target: Buffer): Promise<number> {
		try {
			const got = await calls.read(this.#fd, target, this.#offset);
			if (got === 0) this.#lose('shrank while it was read; zeros stand for what is missing');
			return got;
		} catch (error) {
			this.#lose(error);
			return 0;
		}
	}

	#lose(reason: unknown): void {
		this.#lost = true;
		this.#complain(reason);
	}
}
