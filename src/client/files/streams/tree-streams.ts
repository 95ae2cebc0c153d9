import {Deferred} from '../../../shared/async/deferred.js';
import {FileError, toFileError} from '../file-error.js';
import type {PackedTree, Progress, TransferOutcome, TreeStreamOptions, UnpackedTree, UnpackOptions} from '../files.js';
import {type Block, readBlocks} from './block-reader.js';
import {writeBlocks} from './block-writer.js';

/** Source of the blocks of a packed tree. */
export interface TreeSource {
	read(offset: number, length: number): Promise<Block & {readonly progress?: Progress | undefined}>;
	finish(): Promise<TransferOutcome>;
	abandon(): void;
}

/** Target of the blocks of a packed tree. */
export interface TreeTarget {
	write(offset: number, chunk: Uint8Array): Promise<Progress | undefined>;
	finish(sha256: string | undefined): Promise<TransferOutcome>;
	abandon(): void;
}

export function readPackedTree(
	path: string,
	totals: Progress,
	source: TreeSource,
	{progress, signal, blockBytes}: TreeStreamOptions,
): PackedTree {
	const result = new Outcome(path);
	const blocks = {
		read: (offset: number, length: number) =>
			result.run(async () => {
				const block = await source.read(offset, length);
				if (block.progress) progress?.(block.progress);
				return block;
			}),
		end: () => result.run(async () => result.resolve(await source.finish())),
		abandon: () => {
			result.abandon();
			source.abandon();
		},
	};
	const stream = readBlocks(path, blocks, {signal, blockBytes});
	return {totals, stream, outcome: result.promise};
}

export function writePackedTree(
	path: string,
	target: TreeTarget,
	{progress, signal, checksum, blockBytes}: UnpackOptions,
): UnpackedTree {
	const result = new Outcome(path);
	const blocks = {
		write: (offset: number, chunk: Uint8Array) =>
			result.run(async () => {
				const reached = await target.write(offset, chunk);
				if (reached) progress?.(reached);
			}),
		end: () => result.run(async () => result.resolve(await target.finish(await checksum?.()))),
		abandon: () => {
			result.abandon();
			target.abandon();
		},
	};
	return {stream: writeBlocks(blocks, {signal, blockBytes}), outcome: result.promise};
}

/** Outcome of a transfer; a failure of any of its steps rejects it. */
class Outcome {
	readonly #path: string;
	readonly #deferred = new Deferred<TransferOutcome>();

	constructor(path: string) {
		this.#path = path;
		// The stream reports failures, too.
		this.promise.catch(() => {});
	}

	get promise(): Promise<TransferOutcome> {
		return this.#deferred.promise;
	}

	resolve(outcome: TransferOutcome): void {
		this.#deferred.resolve(outcome);
	}

	async run<T>(step: () => Promise<T>): Promise<T> {
		try {
			return await step();
		} catch (cause) {
			const error = toFileError(cause, this.#path);
			this.#deferred.reject(error);
			throw error;
		}
	}

	/** Rejects the outcome; no-op once settled. */
	abandon(): void {
		this.#deferred.reject(new FileError('ended', 'the transfer was given up', {path: this.#path}));
	}
}
