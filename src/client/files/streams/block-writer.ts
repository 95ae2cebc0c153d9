import {onAbort} from '../../../shared/async/on-abort.js';
import type {WriteStreamOptions} from '../files.js';
import {BLOCK_BYTES, MAX_BLOCKS_UNDER_WAY} from './block-reader.js';

/** Target of blocks. */
export interface BlockTarget {
	/** Settles when the block is accepted; until then the bytes must not change. */
	write(offset: number, chunk: Uint8Array): Promise<void>;
	/** Called when everything was written. */
	end(): Promise<void>;
	/** Releases the target before its end. */
	abandon(): void;
}

/**
 * Buffered stream into blocks, opened with the first bytes if it is not open yet. Bytes are copied, so the writer may reuse
 * its memory. Bytes written while blocks are in flight are buffered: small chunks travel together, and none waits for a
 * full block.
 */
export function writeBlocks(
	open: BlockTarget | (() => Promise<BlockTarget>),
	options: Pick<WriteStreamOptions, 'signal' | 'offset' | 'blockBytes'>,
): WritableStream<Uint8Array> {
	const {signal} = options;
	const writer = new BlockWriter(open, options);
	let stopListening: (() => void) | undefined;
	const orAbandon = async (work: () => Promise<void>) => {
		try {
			await work();
		} catch (error) {
			stopListening?.();
			writer.abandon();
			throw error;
		}
	};
	return new WritableStream<Uint8Array>({
		start: controller => {
			stopListening = onAbort(signal, reason => {
				writer.abandon();
				controller.error(reason);
			});
		},
		write: chunk => orAbandon(() => writer.write(chunk)),
		close: () =>
			orAbandon(async () => {
				await writer.end();
				stopListening?.();
			}),
		abort: () => {
			stopListening?.();
			writer.abandon();
		},
	});
}

class BlockWriter {
	readonly #open: () => Promise<BlockTarget>;
	#opening: Promise<BlockTarget> | undefined;
	readonly #blockBytes: number;
	#buffer: Uint8Array;
	#length = 0;
	#offset: number;
	readonly #inFlight = new Set<Promise<void>>();
	#failure: {readonly error: unknown} | undefined;
	#abandoned = false;

	constructor(
		open: BlockTarget | (() => Promise<BlockTarget>),
		{offset = 0, blockBytes = BLOCK_BYTES}: Pick<WriteStreamOptions, 'offset' | 'blockBytes'>,
	) {
		this.#offset = offset;
		this.#blockBytes = blockBytes;
		this.#buffer = new Uint8Array(blockBytes);
		this.#open = typeof open === 'function' ? open : () => Promise.resolve(open);
		if (typeof open !== 'function') this.#opening = this.#open();
	}

	async write(chunk: Uint8Array): Promise<void> {
		if (!(chunk instanceof Uint8Array)) throw new TypeError('a file stream takes bytes (Uint8Array)');
		const target = await this.#target();
		for (let from = 0; from < chunk.length; ) {
			const piece = chunk.subarray(from, from + this.#blockBytes - this.#length);
			this.#buffer.set(piece, this.#length);
			this.#length += piece.length;
			from += piece.length;
			if (this.#length === this.#blockBytes) await this.#waitForCapacity();
			this.#send(target);
		}
	}

	async end(): Promise<void> {
		const target = await this.#target();
		await this.#waitForCapacity();
		this.#send(target);
		await Promise.all(this.#inFlight);
		this.#throwFailure();
		await target.end();
	}

	/** Releases the target, now or as soon as it is open. */
	abandon(): void {
		if (this.#abandoned) return;
		this.#abandoned = true;
		this.#opening?.then(
			target => target.abandon(),
			// A target that could not be opened need not be closed.
			() => {},
		);
	}

	async #target(): Promise<BlockTarget> {
		this.#opening ??= this.#open();
		const target = await this.#opening;
		this.#throwFailure();
		return target;
	}

	async #waitForCapacity(): Promise<void> {
		while (this.#inFlight.size >= MAX_BLOCKS_UNDER_WAY) await Promise.race(this.#inFlight);
		this.#throwFailure();
	}

	/** Sends the buffer if there is capacity; otherwise the end of a block in flight does. */
	#send(target: BlockTarget): void {
		if (this.#length === 0 || this.#inFlight.size >= MAX_BLOCKS_UNDER_WAY || this.#abandoned) return;
		const chunk = this.#length === this.#blockBytes ? this.#buffer : this.#buffer.slice(0, this.#length);
		if (chunk === this.#buffer) this.#buffer = new Uint8Array(this.#blockBytes);
		const offset = this.#offset;
		this.#offset += chunk.length;
		this.#length = 0;
		const sending = this.#keepFailure(target.write(offset, chunk)).finally(() => {
			this.#inFlight.delete(sending);
			if (!this.#failure) this.#send(target);
		});
		this.#inFlight.add(sending);
	}

	/** Keeps the first failure for the next call. */
	async #keepFailure(write: Promise<void>): Promise<void> {
		try {
			await write;
		} catch (error) {
			this.#failure ??= {error};
		}
	}

	#throwFailure(): void {
		if (this.#failure) throw this.#failure.error;
	}
}
