import {closeSync, readSync} from 'node:fs';
import {Socket} from 'node:net';
import {ReadStream} from 'node:tty';
import {keepChunk, READ_BYTES} from '../output/chunk-pool.js';
import {currentTick} from './event-loop-tick.js';

/** A stream that gave this much in one turn of the event loop waits for the next: a flood leaves room for others. */
const MAX_TICK_BYTES = 128 * 1024;
/** The most that is taken from a stream that is being let go: what a pipe can hold when it was made large. */
export const MAX_DRAIN_BYTES = 1024 * 1024;

/**
 * A program that writes many small pieces at once is read a moment later, so that they travel together: this many below
 * this size, none more than this long after the one before.
 */
const GATHER_AFTER_READS = 8;
const SMALL_BYTES = 4096;
const QUIET_MS = 5;
const GATHER_MS = 1;

/** Every reader reads into the same buffer: the bytes are copied out before the next read can happen. */
const shared = Buffer.allocUnsafeSlow(READ_BYTES);

export interface ReaderEvents {
	data(bytes: Uint8Array): void;
	/**
	 * The descriptor is about to be closed: nobody may use its number from now on. `isOver` when the other side is at its
	 * end, and not when this one lets go.
	 */
	release?(isOver: boolean): void;
	/** Once; nothing follows. */
	end(): void;
}

/** Reads more from the descriptor into the buffer at once; the number of bytes, or not positive when there is nothing. */
export type ReadNonBlocking = (buffer: Uint8Array) => number;

/**
 * Reads a pipe or the master of a terminal to its very end. It owns the descriptor, which must be non-blocking.
 */
export class OutputReader {
	readonly #fd: number;
	readonly #events: ReaderEvents;
	readonly #socket: Socket;
	readonly #readMore: ReadNonBlocking | undefined;
	#paused = false;
	#yielding = false;
	#isClosed = false;
	#isLettingGo = false;
	#turn = -1;
	#turnBytes = 0;
	#smallReads = 0;
	#lastRead = 0;
	#gathering: NodeJS.Timeout | undefined;

	constructor(fd: number, kind: 'pipe' | 'pty', events: ReaderEvents, readMore?: ReadNonBlocking) {
		this.#fd = fd;
		this.#events = events;
		this.#readMore = readMore;
		const onread = {buffer: shared, callback: (length: number) => this.#take(length)};
		this.#socket = open(fd, kind, onread);
		beforeDestroy(this.#socket, () => this.#events.release?.(!this.#isLettingGo));
		// A terminal ends with an error (EIO) and a pipe without one.
		this.#socket.on('error', () => this.#socket.destroy());
		this.#socket.on('end', () => {
			// libuv before 1.52 takes a hang-up for the end although a terminal still holds bytes: read on by hand.
			if (!this.#socket.destroyed) this.#readRest(Number.POSITIVE_INFINITY);
			this.#socket.destroy();
		});
		this.#socket.on('close', () => this.#end());
		this.#socket.resume();
	}

	pause(): void {
		if (this.#paused || this.#isClosed) return;
		this.#paused = true;
		this.#socket.pause();
	}

	resume(): void {
		if (!this.#paused || this.#isClosed) return;
		this.#paused = false;
		if (!this.#yielding) this.#socket.resume();
	}

	/** Somebody waits for what comes next: nothing is gathered. */
	flushNow(): void {
		this.#smallReads = 0;
		if (this.#gathering) this.#goOn();
	}

	/** Takes what was left to gather; for when nothing more may be written. */
	drainBuffered(): void {
		if (!this.#gathering || this.#paused || this.#socket.destroyed) return;
		this.#readRest(MAX_DRAIN_BYTES);
		this.flushNow();
	}

	/** Takes what is there without waiting for more, then lets go. */
	drainAndClose(): void {
		if (this.#isClosed || this.#socket.destroyed) return;
		this.#socket.pause();
		this.#readRest(MAX_DRAIN_BYTES);
		this.#isLettingGo = true;
		this.#socket.destroy();
	}

	#take(length: number): boolean {
		let total = length;
		while (this.#readMore && total < READ_BYTES) {
			const more = this.#readMore(shared.subarray(total));
			if (more <= 0) break;
			total += more;
		}
		this.#events.data(keepChunk(shared, total));
		return this.#mayGoOn(total);
	}

	#mayGoOn(length: number): boolean {
		if (this.#paused || this.#socket.destroyed) return false;
		const turn = currentTick();
		if (turn !== this.#turn) {
			this.#turn = turn;
			this.#turnBytes = 0;
		}
		this.#turnBytes += length;
		if (this.#turnBytes >= MAX_TICK_BYTES) {
			this.#yielding = true;
			setImmediate(() => this.#goOn());
			return false;
		}
		if (!this.#isChatter(length)) return true;
		this.#yielding = true;
		this.#gathering = setTimeout(() => this.#goOn(), GATHER_MS);
		return false;
	}

	#isChatter(length: number): boolean {
		const now = performance.now();
		if (length >= SMALL_BYTES || now - this.#lastRead > QUIET_MS) this.#smallReads = 0;
		else this.#smallReads++;
		this.#lastRead = now;
		return this.#smallReads > GATHER_AFTER_READS;
	}

	#goOn(): void {
		clearTimeout(this.#gathering);
		this.#gathering = undefined;
		this.#yielding = false;
		if (!this.#paused && !this.#socket.destroyed) this.#socket.resume();
	}

	#readRest(limit: number): void {
		for (let left = limit; left > 0; ) {
			let length: number;
			try {
				length = readSync(this.#fd, shared, 0, Math.min(READ_BYTES, left), null);
			} catch {
				return;
			}
			if (length === 0) return;
			this.#events.data(keepChunk(shared, length));
			left -= length;
		}
	}

	#end(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#events.end();
	}
}

/** A stream that fails is destroyed, and its descriptor closed, before it says so. */
function beforeDestroy(socket: Socket, act: () => void): void {
	const destroy = socket._destroy.bind(socket);
	socket._destroy = (error, done) => {
		act();
		destroy(error, done);
	};
}

type OnRead = {buffer: Uint8Array; callback: (length: number) => boolean};

function open(fd: number, kind: 'pipe' | 'pty', onread: OnRead): Socket {
	try {
		if (kind === 'pipe') return new Socket({fd, readable: true, writable: false, onread} as object);
		return new ReadStream(fd, {allowHalfOpen: true, onread} as object);
	} catch (error) {
		closeSync(fd);
		throw error;
	}
}
