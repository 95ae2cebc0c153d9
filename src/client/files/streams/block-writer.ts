import {onAbort} from '../../../shared/async/on-abort.js';
import type {WriteStreamOptions} from '../files.js';
import {BLOCK_BYTES, MAX_BLOCKS_UNDER_WAY} from './block-reader.js';

/** Where blocks go. */
export interface BlockTarget {
	/** Settles when the block is taken up; until then the bytes stay as they are. */
	write(offset: number, chunk: Uint8Array): Promise<void>;
	/** Everything was written. */
	end(): Promise<void>;
	/** Nothing more will come. */
	abandon(): void;
}

/**
 * A stream into blocks, opened with the first bytes if it is not open yet. Bytes are copied, so the writer may use its memory again. What is
 * written while blocks are on their way is collected: small pieces travel together, and nothing waits for a full block.
 */
export function writeBlocks(
	open: BlockTarget | (() => Promise<BlockTarget>),
	{signal, offset = 0}: Pick<WriteStreamOptions, 'signal' | 'offset'>,
): WritableStream<Uint8Array> {
	const writer = new BlockWriter(open, offset);
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
	#collected = new Uint8Array(BLOCK_BYTES);
	#length = 0;
	#offset: number;
	readonly #underWay = new Set<Promise<void>>();
	#failure: {readonly error: unknown} | undefined;
	#abandoned = false;

	constructor(open: BlockTarget | (() => Promise<BlockTarget>), offset: number) {
		this.#offset = offset;
		this.#open = typeof open === 'function' ? open : () => Promise.resolve(open);
		if (typeof open !== 'function') this.#opening = this.#open();
	}

	async write(chunk: Uint8Array): Promise<void> {
		if (!(chunk instanceof Uint8Array)) throw new TypeError('a file stream takes bytes (Uint8Array)');
		const target = await this.#target();
		for (let from = 0; from < chunk.length; ) {
			const piece = chunk.subarray(from, from + BLOCK_BYTES - this.#length);
			this.#collected.set(piece, this.#length);
			this.#length += piece.length;
			from += piece.length;
			if (this.#length === BLOCK_BYTES) await this.#room();
			this.#send(target);
		}
	}

	async end(): Promise<void> {
		const target = await this.#target();
		await this.#room();
		this.#send(target);
		await Promise.all(this.#underWay);
		this.#requireSound();
		await target.end();
	}

	/** Gives the target back, now or as soon as it is there. */
	abandon(): void {
		if (this.#abandoned) return;
		this.#abandoned = true;
		this.#opening?.then(
			target => target.abandon(),
			// What could not be opened need not be closed.
			() => {},
		);
	}

	async #target(): Promise<BlockTarget> {
		this.#opening ??= this.#open();
		const target = await this.#opening;
		this.#requireSound();
		return target;
	}

	async #room(): Promise<void> {
		while (this.#underWay.size >= MAX_BLOCKS_UNDER_WAY) await Promise.race(this.#underWay);
		this.#requireSound();
	}

	/** Sends what was collected, if it may go now; else the end of a block under way does. */
	#send(target: BlockTarget): void {
		if (this.#length === 0 || this.#underWay.size >= MAX_BLOCKS_UNDER_WAY || this.#abandoned) return;
		const chunk = this.#length === BLOCK_BYTES ? this.#collected : this.#collected.slice(0, this.#length);
		if (chunk === this.#collected) this.#collected = new Uint8Array(BLOCK_BYTES);
		const offset = this.#offset;
		this.#offset += chunk.length;
		this.#length = 0;
		const sending = this.#settle(target.write(offset, chunk)).finally(() => {
			this.#underWay.delete(sending);
			if (!this.#failure) this.#send(target);
		});
		this.#underWay.add(sending);
	}

	/** The first failure is kept for the next who asks. */
	async #settle(write: Promise<void>): Promise<void> {
		try {
			await write;
		} catch (error) {
			this.#failure ??= {error};
		}
	}

	#requireSound(): void {
		if (this.#failure) throw this.#failure.error;
	}
}
