import {FileError, toFileError} from '../file-error.js';
import type {PackedTree, Progress, TransferOutcome, TreeStreamOptions, UnpackedTree, UnpackOptions} from '../files.js';
import {type Block, readBlocks} from './block-reader.js';
import {writeBlocks} from './block-writer.js';

/** Where the blocks of a packed tree come from. */
export interface TreeSource {
	read(offset: number, length: number): Promise<Block & {readonly progress?: Progress | undefined}>;
	finish(): Promise<TransferOutcome>;
	abandon(): void;
}

/** Where the blocks of a packed tree go. */
export interface TreeTarget {
	write(offset: number, chunk: Uint8Array): Promise<Progress | undefined>;
	finish(sha256: string | undefined): Promise<TransferOutcome>;
	abandon(): void;
}

export function readPackedTree(
	path: string,
	totals: Progress,
	source: TreeSource,
	{progress, signal}: TreeStreamOptions,
): PackedTree {
	const result = new Outcome(path);
	const blocks = {
		read: (offset: number, length: number) =>
			result.of(async () => {
				const block = await source.read(offset, length);
				if (block.progress) progress?.(block.progress);
				return block;
			}),
		end: () => result.of(async () => result.settle(await source.finish())),
		abandon: () => {
			result.abandon();
			source.abandon();
		},
	};
	const stream = readBlocks(path, blocks, {signal});
	return {totals, stream, outcome: result.promise};
}

export function writePackedTree(
	path: string,
	target: TreeTarget,
	{progress, signal, checksum}: UnpackOptions,
): UnpackedTree {
	const result = new Outcome(path);
	const blocks = {
		write: (offset: number, chunk: Uint8Array) =>
			result.of(async () => {
				const reached = await target.write(offset, chunk);
				if (reached) progress?.(reached);
			}),
		end: () => result.of(async () => result.settle(await target.finish(await checksum?.()))),
		abandon: () => {
			result.abandon();
			target.abandon();
		},
	};
	return {stream: writeBlocks(blocks, {signal}), outcome: result.promise};
}

/** How a transfer ended, for those who do not look at the stream. */
class Outcome {
	readonly promise: Promise<TransferOutcome>;
	readonly #path: string;
	settle!: (outcome: TransferOutcome) => void;
	#reject!: (error: unknown) => void;

	constructor(path: string) {
		this.#path = path;
		this.promise = new Promise((resolve, reject) => {
			this.settle = resolve;
			this.#reject = reject;
		});
		// The stream tells of failures too.
		this.promise.catch(() => {});
	}

	/** A step whose failure is that of the whole. */
	async of<T>(step: () => Promise<T>): Promise<T> {
		try {
			return await step();
		} catch (cause) {
			const error = toFileError(cause, this.#path);
			this.#reject(error);
			throw error;
		}
	}

	/** Means nothing to one that has settled. */
	abandon(): void {
		this.#reject(new FileError('ended', 'the transfer was given up', {path: this.#path}));
	}
}
