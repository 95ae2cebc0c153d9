import {ignoreRejection} from '../../shared/async/ignore-rejection.js';
import {ForwardError, toForwardError} from './forward-error.js';

/** Bytes of one write call; longer chunks are split. */
const MAX_WRITE_BYTES = 256 * 1024;
/** Pipelined write calls, so that latency does not limit throughput. */
const MAX_PENDING_WRITES = 2;
/** Bytes requested by one read call. */
const MAX_READ_BYTES = 512 * 1024;
/** Pipelined read calls while much data arrives; an idle connection has one. */
const MAX_PENDING_READS = 2;
/** A read of this size or more means that more data is waiting, so the next read is pipelined. */
const MIN_READ_AHEAD_BYTES = 64 * 1024;

/** A TCP connection to a port of a machine, with half-close and back-pressure in each direction. */
export interface PortConnection {
	/** Data from the port. When the connection breaks, it fails after the data that had arrived. */
	readonly readable: ReadableStream<Uint8Array>;
	/** Data for the port. Closing it ends this direction after the written data; aborting it ends the connection. */
	readonly writable: WritableStream<Uint8Array>;
	/** Ends both directions immediately. */
	close(): void;
}

export interface PortPiece {
	readonly bytes: Uint8Array;
	readonly eof: boolean;
}

/** Operations a port connection is built from. */
export interface PortConnectionEnds {
	/** Waits for data; concurrent reads are answered in the order of the calls. */
	read(maxBytes: number): Promise<PortPiece>;
	/** Resolves when the bytes were accepted; they arrive in the order of the calls. */
	write(bytes: Uint8Array, eof: boolean): Promise<void>;
	/** Releases the connection. */
	close(): void;
}

export function openPortConnection(ends: PortConnectionEnds): PortConnection {
	const state = new PortConnectionState(ends);
	return {readable: createReadable(ends, state), writable: createWritable(ends, state), close: () => state.abandon()};
}

type Direction = 'in' | 'out';

/** Closes the connection when both directions have ended, or at the first failure. */
class PortConnectionState {
	readonly #ends: PortConnectionEnds;
	readonly #open = new Set<Direction>(['in', 'out']);
	#failure: unknown;

	constructor(ends: PortConnectionEnds) {
		this.#ends = ends;
	}

	endDirection(direction: Direction): void {
		if (this.#open.size === 1 && this.#open.has(direction)) this.close();
		else this.#open.delete(direction);
	}

	close(): void {
		if (this.#open.size === 0) return;
		this.#open.clear();
		this.#ends.close();
	}

	/** Closes both directions at the wish of the caller: whatever is pending fails with that reason. */
	abandon(): void {
		this.#failure ??= new ForwardError('failed', 'the connection was closed by this client');
		this.close();
	}

	/** Runs an operation; after the first failure every later one fails with the same error. */
	async runOrFail(work: () => Promise<void>): Promise<void> {
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

function createReadable(ends: PortConnectionEnds, state: PortConnectionState): ReadableStream<Uint8Array> {
	const pending: Promise<PortPiece>[] = [];
	return new ReadableStream<Uint8Array>(
		{
			pull: controller =>
				state.runOrFail(async () => {
					if (pending.length === 0) pending.push(ignoreRejection(ends.read(MAX_READ_BYTES)));
					const {bytes, eof} = await pending.shift()!;
					while (bytes.length >= MIN_READ_AHEAD_BYTES && pending.length < MAX_PENDING_READS) {
						pending.push(ignoreRejection(ends.read(MAX_READ_BYTES)));
					}
					if (bytes.length > 0) controller.enqueue(bytes);
					if (!eof) return;
					state.endDirection('in');
					controller.close();
				}),
			cancel: () => state.endDirection('in'),
		},
		{highWaterMark: 0},
	);
}

function createWritable(ends: PortConnectionEnds, state: PortConnectionState): WritableStream<Uint8Array> {
	const pending: Promise<void>[] = [];
	const write = async (bytes: Uint8Array, eof: boolean, maxPending: number): Promise<void> => {
		pending.push(ignoreRejection(ends.write(bytes, eof)));
		while (pending.length > maxPending) await pending.shift();
	};
	return new WritableStream<Uint8Array>({
		write: chunk =>
			state.runOrFail(async () => {
				for (let at = 0; at < chunk.length; at += MAX_WRITE_BYTES) {
					await write(chunk.subarray(at, at + MAX_WRITE_BYTES), false, MAX_PENDING_WRITES - 1);
				}
			}),
		close: () =>
			state.runOrFail(async () => {
				await write(new Uint8Array(), true, 0);
				state.endDirection('out');
			}),
		abort: () => state.close(),
	});
}
