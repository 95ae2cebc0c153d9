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

let fullPipes = 0;

/** Length of the turns in which one full pipe is read. */
export class PipeTurns {
	readonly #enlarge: () => boolean;
	#isReading = false;
	#fullReads = 0;
	#isEnlarged = false;

	/** `enlarge` is called once, when the pipe has stayed full; false if it could not be. */
	constructor(enlarge: () => boolean) {
		this.#enlarge = enlarge;
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
		if (++this.#fullReads === MIN_FULL_READS && !this.#isEnlarged) this.#isEnlarged = this.#enlarge();
		return true;
	}
}
