import {onAbort} from '../../../shared/async/on-abort.js';
import {FileError} from '../file-error.js';
import type {ReadStreamOptions} from '../files.js';

/** Size of a block unless told otherwise; the protocol allows no more. */
export const BLOCK_BYTES = 1024 * 1024;
/** Blocks of one stream in flight. With their size, this bounds the memory of a stream. */
export const MAX_BLOCKS_UNDER_WAY = 4;

export interface Block {
	readonly chunk: Uint8Array;
	/** It is the last block. */
	readonly eof: boolean;
}

/** Source of blocks. */
export interface BlockSource {
	read(offset: number, length: number): Promise<Block>;
	/** Called when everything was read. */
	end(): Promise<void>;
	/** Releases the source before its end. */
	abandon(): void;
}

/**
 * Stream of blocks with read-ahead, opened when it is first read if it is not open yet. The first block is requested alone,
 * since most files are small; from then on several are, each at the offset where the one before should end.
 */
export function readBlocks(
	path: string,
	open: BlockSource | (() => Promise<BlockSource>),
	options: Pick<ReadStreamOptions, 'offset' | 'signal' | 'blockBytes'>,
): ReadableStream<Uint8Array> {
	const reader = new BlockReader(path, open, options);
	let stopListening: (() => void) | undefined;
	return new ReadableStream<Uint8Array>(
		{
			start: controller => {
				stopListening = onAbort(options.signal, reason => {
					reader.abandon();
					controller.error(reason);
				});
			},
			pull: async controller => {
				try {
					const chunk = await reader.next();
					if (reader.isAbandoned) return;
					if (chunk) controller.enqueue(chunk);
					if (!chunk || (await reader.isAtEnd())) {
						stopListening?.();
						controller.close();
					}
				} catch (error) {
					stopListening?.();
					if (reader.isAbandoned) return;
					reader.abandon();
					throw error;
				}
			},
			cancel: () => {
				stopListening?.();
				reader.abandon();
			},
		},
		{highWaterMark: 0},
	);
}

class BlockReader {
	readonly #path: string;
	readonly #open: () => Promise<BlockSource>;
	#source: Promise<BlockSource> | undefined;
	/** Read-ahead: requested blocks, in order. */
	#ahead: Promise<Block>[] = [];
	/** Offset of the next block to request. */
	#offset: number;
	readonly #blockBytes: number;
	#width = 1;
	#sawEnd = false;
	#abandoned = false;

	constructor(
		path: string,
		open: BlockSource | (() => Promise<BlockSource>),
		{offset = 0, blockBytes = BLOCK_BYTES}: Pick<ReadStreamOptions, 'offset' | 'blockBytes'>,
	) {
		this.#path = path;
		this.#open = typeof open === 'function' ? open : () => Promise.resolve(open);
		if (typeof open !== 'function') this.#source = this.#open();
		this.#offset = offset;
		this.#blockBytes = blockBytes;
	}

	get isAbandoned(): boolean {
		return this.#abandoned;
	}

	/** Returns the next bytes; undefined at the end. */
	async next(): Promise<Uint8Array | undefined> {
		this.#source ??= this.#open();
		const source = await this.#source;
		if (this.#abandoned) return undefined;
		this.#requestAhead(source);
		const {chunk, eof} = await this.#ahead.shift()!;
		this.#requireUsable(chunk, eof);
		if (eof) {
			this.#sawEnd = true;
			this.#ahead = [];
			if (chunk.length > 0) return chunk;
			await source.end();
			return undefined;
		}
		if (chunk.length < this.#blockBytes) this.#rewind(chunk.length);
		this.#width = Math.min(this.#width * 2, MAX_BLOCKS_UNDER_WAY);
		if (!this.#abandoned) this.#requestAhead(source);
		return chunk;
	}

	/** Whether the last bytes were returned; then the source is ended. */
	async isAtEnd(): Promise<boolean> {
		if (this.#sawEnd) await (await this.#source)?.end();
		return this.#sawEnd;
	}

	/** Releases the source, now or as soon as it is open. */
	abandon(): void {
		if (this.#abandoned) return;
		this.#abandoned = true;
		this.#ahead = [];
		this.#source?.then(
			source => source.abandon(),
			// A source that could not be opened need not be closed.
			() => {},
		);
	}

	#requestAhead(source: BlockSource): void {
		while (this.#ahead.length < this.#width) {
			const block = source.read(this.#offset, this.#blockBytes);
			// Blocks after the end, or after a failure, are ignored.
			block.catch(() => {});
			this.#ahead.push(block);
			this.#offset += this.#blockBytes;
		}
	}

	/** After a short block that is not the last, the blocks requested ahead have the wrong offsets. */
	#rewind(length: number): void {
		this.#offset -= (this.#ahead.length + 1) * this.#blockBytes - length;
		this.#ahead = [];
	}

	#requireUsable({length}: Uint8Array, eof: boolean): void {
		const path = this.#path;
		if (length > this.#blockBytes) {
			throw new FileError('invalid-data', `file block exceeds ${this.#blockBytes} bytes`, {path});
		}
		if (length === 0 && !eof) throw new FileError('invalid-data', 'file block is empty before the end', {path});
	}
}
