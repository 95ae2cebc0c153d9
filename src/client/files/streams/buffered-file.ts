import {FileError} from '../file-error.js';
import type {BlockSource} from './block-reader.js';
import type {BlockTarget} from './block-writer.js';

/** Buffers a whole file, for executors that take files in one piece only. */
export class BufferedFile implements BlockTarget {
	readonly #maxBytes: number;
	readonly #path: string;
	readonly #store: (content: Uint8Array) => Promise<void>;
	#chunks: Uint8Array[] = [];
	#length = 0;

	constructor(maxBytes: number, path: string, store: (content: Uint8Array) => Promise<void>) {
		this.#maxBytes = maxBytes;
		this.#path = path;
		this.#store = store;
	}

	async write(_offset: number, chunk: Uint8Array): Promise<void> {
		this.#length += chunk.length;
		if (this.#length > this.#maxBytes) {
			const message = `exec-server cannot take a file in blocks, and this one is larger than ${this.#maxBytes} bytes`;
			throw new FileError('unsupported', message, {path: this.#path});
		}
		this.#chunks.push(chunk);
	}

	async end(): Promise<void> {
		const content = new Uint8Array(this.#length);
		let offset = 0;
		for (const chunk of this.#chunks) {
			content.set(chunk, offset);
			offset += chunk.length;
		}
		this.abandon();
		await this.#store(content);
	}

	abandon(): void {
		this.#chunks = [];
	}
}

/** Blocks of a file that was read in one piece. */
export function wholeFile(content: Uint8Array): BlockSource {
	return {
		read: async (offset, length) => ({
			chunk: content.subarray(offset, offset + length),
			eof: offset + length > content.length,
		}),
		end: async () => {},
		abandon: () => {},
	};
}

/** Decodes UTF-8; invalid bytes are replaced. A byte order mark stays, so that text written back is unchanged. */
export function decodeText(bytes: Uint8Array): string {
	return new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes);
}
