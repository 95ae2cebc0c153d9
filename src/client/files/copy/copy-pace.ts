/** Largest batch of a tree, sent as one stream. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;
/** Smallest batch: a connection that carries less between two losses carries no copy. */
const MIN_STEP_BYTES = 128 * 1024;
/** Steps that fit between two losses of the connection, so that most of them are finished and not sent again. */
const STEPS_PER_INTERVAL = 4;
const MAX_LARGE_FILE_BYTES = 8 * 1024 * 1024;
const MIN_LARGE_FILE_BYTES = 256 * 1024;
const MAX_BLOCK_BYTES = 1024 * 1024;
const MIN_BLOCK_BYTES = 64 * 1024;
/** Blocks of a stream in flight are lost with the connection. */
const BLOCKS_PER_STEP = 4;
const MAX_BATCH_ENTRIES = 4096;
/** An entry costs this much on the wire besides its content: its name in two requests, and its headers. */
const ENTRY_BYTES = 2048;

/** Sizes of the steps of a copy: large ones for throughput, and small ones where the connection is lost again and again. */
export class CopyPace {
	#intervalBytes = Number.POSITIVE_INFINITY;
	#bytesSinceLoss = 0;

	addBytes(count: number): void {
		this.#bytesSinceLoss += count;
	}

	/** The connection was lost: steps become a fraction of what it has carried since the last loss. */
	shrink(): void {
		this.#intervalBytes = this.#bytesSinceLoss;
		this.#bytesSinceLoss = 0;
	}

	/** Content of a batch of small files. */
	get batchBytes(): number {
		const carried = Math.max(this.#intervalBytes, this.#bytesSinceLoss) / STEPS_PER_INTERVAL;
		return clamp(carried, MIN_STEP_BYTES, MAX_STEP_BYTES);
	}

	get batchEntries(): number {
		return Math.min(MAX_BATCH_ENTRIES, Math.floor(this.batchBytes / ENTRY_BYTES));
	}

	/** From this size on a file is sent by itself and resumed within. */
	get largeFileBytes(): number {
		return clamp(this.batchBytes, MIN_LARGE_FILE_BYTES, MAX_LARGE_FILE_BYTES);
	}

	/** Bytes of one message of a stream. */
	get blockBytes(): number {
		return Math.floor(clamp(this.batchBytes / BLOCKS_PER_STEP, MIN_BLOCK_BYTES, MAX_BLOCK_BYTES));
	}
}

function clamp(value: number, min: number, max: number): number {
	return Math.min(Math.max(value, min), max);
}
