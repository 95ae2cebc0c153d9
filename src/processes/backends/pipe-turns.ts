import {isAnyoneAsking} from '../../shared/recent-requests.js';
import {MAX_CHUNK_BYTES, MAX_READ_BYTES} from '../output/chunk-pool.js';

/** Bytes that are taken from a full pipe per tick of the event loop. */
const MAX_TURN_BYTES = 256 * 1024;
/** The same where several pipes are full. */
const SHARED_TURN_BYTES = 128 * 1024;
/** The same while requests come, whose answers wait for the end of the turn. */
const SHORT_TURN_BYTES = 64 * 1024;
/** Size of a pipe that stays full: its program writes a whole turn while the last one is sent. */
export const ENLARGED_PIPE_BYTES = MAX_TURN_BYTES;
/** Reads in a row that a pipe has to fill before it is enlarged. */
const MIN_FULL_READS = 4;

/** A pipe that is read here while it stays full, straight into the memory of the chunks. */
export interface PipeSource {
	/** Bytes read, 0 at the end; negative for an error. */
	read(block: Uint8Array): number;
	/** Makes the pipe larger; false if it stays as it is. */
	enlarge(): boolean;
	close(): void;
}

let fullPipes = 0;

/** Length of the turns in which one full pipe is read. */
export class PipeTurns {
	readonly pipe: PipeSource;
	#isReading = false;
	#fullReads = 0;
	#isEnlarged = false;

	constructor(pipe: PipeSource) {
		this.pipe = pipe;
	}

	/** Turns follow. */
	begin(): void {
		if (!this.#isReading) fullPipes++;
		this.#isReading = true;
	}

	/** No turn follows, for now. */
	end(): void {
		if (this.#isReading) fullPipes--;
		this.#isReading = false;
	}

	/** No turn follows any more. */
	close(): void {
		this.end();
		this.pipe.close();
	}

	get turnBytes(): number {
		if (isAnyoneAsking()) return SHORT_TURN_BYTES;
		return fullPipes > 1 ? SHARED_TURN_BYTES : MAX_TURN_BYTES;
	}

	/** Bytes of one read: no more than the pipe holds. */
	get readBytes(): number {
		return this.#isEnlarged ? MAX_CHUNK_BYTES : MAX_READ_BYTES;
	}

	/** False if the pipe was not full. */
	recordRead(length: number): boolean {
		if (length < MAX_READ_BYTES) {
			this.#fullReads = 0;
			return false;
		}
		if (++this.#fullReads === MIN_FULL_READS && !this.#isEnlarged) this.#isEnlarged = this.pipe.enlarge();
		return true;
	}
}
