import {toForwardError} from './forward-error.js';

/** Bytes of one write; what is longer goes in several. */
const WRITE_BYTES = 256 * 1024;
/** Writes on their way at once, so that a long way does not slow them down. */
const WRITES_AHEAD = 2;
/** Bytes asked for at once. */
const READ_BYTES = 512 * 1024;
/** Reads on their way at once while much arrives; a quiet connection has one. */
const READS_AHEAD = 2;
/** A piece this long means that more is waiting. */
const MUCH_BYTES = 64 * 1024;

/** A TCP connection to a port of a machine. Each direction ends by itself, and is as slow as whoever reads it. */
export interface PortConnection {
	/** What the port sends. Fails behind what had arrived when the connection breaks. */
	readonly readable: ReadableStream<Uint8Array>;
	/** For the port. Closing it ends this direction behind what was written; aborting it ends the connection. */
	readonly writable: WritableStream<Uint8Array>;
	/** Ends both directions at once. */
	close(): void;
}

export interface PortPiece {
	readonly bytes: Uint8Array;
	readonly eof: boolean;
}

/** What a tunnel is made of. */
export interface PortConnectionEnds {
	/** Waits for something to arrive; answered in the order of asking. */
	read(maxBytes: number): Promise<PortPiece>;
	/** Settles when the bytes were taken; they arrive in the order of calling. */
	write(bytes: Uint8Array, eof: boolean): Promise<void>;
	/** Nobody wants the connection any more. */
	close(): void;
}

export function openPortConnection(ends: PortConnectionEnds): PortConnection {
	const state = new PortConnectionState(ends);
	return {readable: inward(ends, state), writable: outward(ends, state), close: () => state.close()};
}

type Direction = 'in' | 'out';

/** The connection is over when both its directions are, or at the first failure. */
class PortConnectionState {
	readonly #ends: PortConnectionEnds;
	readonly #open = new Set<Direction>(['in', 'out']);
	#failure: unknown;

	constructor(ends: PortConnectionEnds) {
		this.#ends = ends;
	}

	over(direction: Direction): void {
		if (this.#open.size === 1 && this.#open.has(direction)) this.close();
		else this.#open.delete(direction);
	}

	close(): void {
		if (this.#open.size === 0) return;
		this.#open.clear();
		this.#ends.close();
	}

	/** The first failure is the reason for all that follow. */
	async guarded(work: () => Promise<void>): Promise<void> {
		try {
			if (this.#failure) throw this.#failure;
			await work();
		} catch (error) {
			this.#failure ??= toForwardError(error);
			this.close();
			throw this.#failure;
		}
	}
}

function inward(ends: PortConnectionEnds, state: PortConnectionState): ReadableStream<Uint8Array> {
	const asked: Promise<PortPiece>[] = [];
	return new ReadableStream<Uint8Array>(
		{
			pull: controller =>
				state.guarded(async () => {
					if (asked.length === 0) asked.push(ignorable(ends.read(READ_BYTES)));
					const {bytes, eof} = await asked.shift()!;
					while (bytes.length >= MUCH_BYTES && asked.length < READS_AHEAD) {
						asked.push(ignorable(ends.read(READ_BYTES)));
					}
					if (bytes.length > 0) controller.enqueue(bytes);
					if (!eof) return;
					state.over('in');
					controller.close();
				}),
			cancel: () => state.over('in'),
		},
		{highWaterMark: 0},
	);
}

function outward(ends: PortConnectionEnds, state: PortConnectionState): WritableStream<Uint8Array> {
	const underWay: Promise<void>[] = [];
	const write = async (bytes: Uint8Array, eof: boolean, mostUnderWay: number): Promise<void> => {
		underWay.push(ignorable(ends.write(bytes, eof)));
		while (underWay.length > mostUnderWay) await underWay.shift();
	};
	return new WritableStream<Uint8Array>({
		write: chunk =>
			state.guarded(async () => {
				for (let at = 0; at < chunk.length; at += WRITE_BYTES) {
					await write(chunk.subarray(at, at + WRITE_BYTES), false, WRITES_AHEAD - 1);
				}
			}),
		close: () =>
			state.guarded(async () => {
				await write(new Uint8Array(), true, 0);
				state.over('out');
			}),
		abort: () => state.close(),
	});
}

/** Whoever waits for it learns of its failure; there may be nobody. */
function ignorable<T>(promise: Promise<T>): Promise<T> {
	promise.catch(() => {});
	return promise;
}
