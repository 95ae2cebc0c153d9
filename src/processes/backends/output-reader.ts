import {closeSync, readSync} from 'node:fs';
import {Socket} from 'node:net';
import {ReadStream} from 'node:tty';
import {mayHang} from '../../shared/node/mounts.js';
import {copyChunk, keepBlock, MAX_READ_BYTES, takeBlock} from '../output/chunk-pool.js';
import {type PipeSource, PipeTurns} from './pipe-turns.js';

/** Bytes read from one stream per tick of the event loop, so that a flood starves no other stream. */
const MAX_TICK_BYTES = 128 * 1024;
/** Bytes drained from a stream that is closed early: the largest capacity of a pipe for ordinary users. */
export const MAX_DRAIN_BYTES = 1024 * 1024;

/**
 * Coalescing: after a burst of small reads the next read is delayed, so that the writes of a chatty program arrive in one
 * chunk. A burst is more than MAX_SMALL_READS reads below SMALL_READ_BYTES with gaps of at most MAX_BURST_GAP_MS.
 */
const MAX_SMALL_READS = 8;
const SMALL_READ_BYTES = 4096;
/** The same for a read that was delayed, below what a pipe holds: the program was not kept waiting. */
const SMALL_DELAYED_READ_BYTES = 32 * 1024;
const MAX_BURST_GAP_MS = 5;
const COALESCE_MS = 1;

/** Bytes of one wake-up from which on a stream is a flood, and read by a thread of the pool. */
const FLOOD_BYTES = 8 * 1024;
/** Streams that are read by threads of the pool at once, which has four and is needed for files. */
const MAX_FLOODS = 2;
/** A read that took longer waited for a thread: file calls have them all, and the stream is read here for a while. */
const MAX_AWAY_MS = 100;
const FLOOD_BACKOFF_MS = 10_000;
let floods = 0;
let noFloodsBefore = 0;

/** Shared by all readers: the bytes are copied out before the next read can happen. */
const readBuffer = Buffer.allocUnsafeSlow(MAX_READ_BYTES);

export interface ReaderEvents {
	data(bytes: Uint8Array): void;
	/** The file descriptor is about to be closed and must not be used again. `isAtEnd` is false after `drainAndClose`. */
	beforeClose?(isAtEnd: boolean): void;
	/** Called once, last. */
	end(): void;
}

/** Non-blocking read into the buffer. Returns the number of bytes; 0 or less when there are none. */
export type ReadNonBlocking = (buffer: Uint8Array) => number;

/** Reads without blocking, and not on the event loop. */
export interface FloodSource {
	/** Calls back later with the number of bytes, 0 if there are none now. False, without a call, if it cannot read. */
	read(block: Buffer, done: (length: number) => void): boolean;
	/** Call while no read is under way. */
	close(): void;
}

/** Further ways to read the same stream. */
export interface ReaderSources {
	readonly readNonBlocking?: ReadNonBlocking;
	readonly flood?: FloodSource;
	/** Called when the pipe is full for the first time. */
	readonly openPipe?: (fd: number) => PipeSource;
}

/** Reads a pipe or the master of a terminal to its very end. Owns the file descriptor, which must be non-blocking. */
export class OutputReader {
	readonly #fd: number;
	readonly #events: ReaderEvents;
	readonly #socket: Socket;
	readonly #readNonBlocking: ReadNonBlocking | undefined;
	#isPaused = false;
	#isYielding = false;
	#isClosed = false;
	#isClosedByUs = false;
	#tick = -1;
	#tickBytes = 0;
	#smallReads = 0;
	#lastRead = 0;
	#coalesceTimer: NodeJS.Timeout | undefined;
	readonly #flood: FloodSource | undefined;
	/** A read of the flood source is under way. */
	#isAway = false;
	#closesOnReturn = false;
	readonly #openPipe: ReaderSources['openPipe'];
	#turns: PipeTurns | undefined;
	/** The next turn of a full pipe waits for `resume`. */
	#isTurnHeld = false;

	constructor(fd: number, kind: 'pipe' | 'pty', events: ReaderEvents, sources: ReaderSources = {}) {
		this.#fd = fd;
		this.#events = events;
		this.#readNonBlocking = sources.readNonBlocking;
		this.#flood = sources.flood;
		this.#openPipe = sources.openPipe;
		const onread = {buffer: readBuffer, callback: (length: number) => this.#handleRead(length)};
		this.#socket = openSocket(fd, kind, onread);
		hookDestroy(this.#socket, () => this.#events.beforeClose?.(!this.#isClosedByUs));
		// A terminal ends with an error (EIO) and a pipe without one.
		this.#socket.on('error', () => this.#socket.destroy());
		this.#socket.on('end', () => {
			// libuv before 1.52 reports the end at a hang-up although the terminal still holds bytes: drain it here.
			if (kind === 'pty' && !this.#socket.destroyed) this.#drain(Number.POSITIVE_INFINITY);
			this.#socket.destroy();
		});
		this.#socket.on('close', () => this.#handleClose());
		this.#socket.resume();
	}

	/** The descriptor while it is open. */
	get fd(): number | undefined {
		return this.#socket.destroyed ? undefined : this.#fd;
	}

	/** Bytes may have been taken from the kernel that are not reported yet. They are soon, also while paused. */
	get isAway(): boolean {
		return this.#isAway;
	}

	pause(): void {
		if (this.#isPaused || this.#isClosed) return;
		this.#isPaused = true;
		this.#socket.pause();
	}

	resume(): void {
		if (!this.#isPaused || this.#isClosed) return;
		this.#isPaused = false;
		if (this.#isTurnHeld) this.#awaitTurn();
		else if (!this.#isYielding) this.#socket.resume();
	}

	/** Ends coalescing: a reader waits for the next output. */
	flushNow(): void {
		this.#smallReads = 0;
		if (this.#coalesceTimer) this.#readOn();
	}

	/** Reads output delayed by coalescing at once; called when the child has exited. */
	drainBuffered(): void {
		if (!this.#coalesceTimer || this.#isPaused || this.#socket.destroyed) return;
		this.#drain(MAX_DRAIN_BYTES);
		this.flushNow();
	}

	/** Reads what the kernel holds without waiting for more, then closes; after the read that is under way, if any. */
	drainAndClose(): void {
		if (this.#isClosed || this.#socket.destroyed) return;
		this.#closesOnReturn = this.#isAway;
		if (this.#isAway) return;
		this.#socket.pause();
		this.#drain(MAX_DRAIN_BYTES);
		this.#isClosedByUs = true;
		this.#socket.destroy();
	}

	#handleRead(length: number): boolean {
		let total = length;
		while (this.#readNonBlocking && total < MAX_READ_BYTES) {
			const more = this.#readNonBlocking(readBuffer.subarray(total));
			if (more <= 0) break;
			total += more;
		}
		this.#events.data(copyChunk(readBuffer, total));
		return this.#canReadOn(total);
	}

	#canReadOn(length: number): boolean {
		if (this.#isPaused || this.#socket.destroyed || (length >= FLOOD_BYTES && this.#beginFlood())) return false;
		this.#countBytes(length);
		if (this.#openPipe && length === MAX_READ_BYTES) {
			this.#isYielding = true;
			this.#awaitTurn();
			return false;
		}
		if (this.#tickBytes >= MAX_TICK_BYTES) {
			this.#isYielding = true;
			setImmediate(() => this.#readOn());
			return false;
		}
		if (!this.#isBurst(length)) return true;
		this.#isYielding = true;
		this.#coalesceTimer = setTimeout(() => this.#readOn(), COALESCE_MS);
		return false;
	}

	#countBytes(length: number): void {
		const tick = currentTick();
		if (tick !== this.#tick) {
			this.#tick = tick;
			this.#tickBytes = 0;
		}
		this.#tickBytes += length;
	}

	/** False if the stream has to be read here, as where a file system could keep the threads of the pool for ever. */
	#beginFlood(): boolean {
		if (!this.#flood || floods === MAX_FLOODS || performance.now() < noFloodsBefore || mayHang()) return false;
		if (!this.#readAway(this.#flood)) return false;
		floods++;
		this.#isYielding = true;
		return true;
	}

	#readAway(flood: FloodSource): boolean {
		const block = takeBlock();
		const began = performance.now();
		this.#isAway = flood.read(block, length => {
			const now = performance.now();
			if (now - began > MAX_AWAY_MS) noFloodsBefore = now + FLOOD_BACKOFF_MS;
			this.#handleFlood(flood, block, length);
		});
		if (!this.#isAway) keepBlock(block, 0);
		return this.#isAway;
	}

	#handleFlood(flood: FloodSource, block: Buffer, length: number): void {
		this.#isAway = false;
		const isOver =
			length === 0 || this.#isPaused || this.#closesOnReturn || performance.now() < noFloodsBefore || mayHang();
		// The next read is under way while these bytes are sent.
		const goesOn = !isOver && this.#readAway(flood);
		const bytes = keepBlock(block, length);
		if (length > 0) this.#events.data(bytes);
		if (goesOn) return;
		floods--;
		this.#readOn();
		if (this.#closesOnReturn) this.drainAndClose();
	}

	#awaitTurn(): void {
		this.#isTurnHeld = false;
		const turns = (this.#turns ??= new PipeTurns(this.#openPipe!(this.#fd)));
		turns.begin();
		setImmediate(() => this.#takeTurn(turns));
	}

	/** Reads a pipe that was full until the turn is over; goes back to waiting for bytes when it is not full any more. */
	#takeTurn(turns: PipeTurns): void {
		let isFull = true;
		for (let left = turns.turnBytes; isFull && left > 0 && !this.#isPaused && !this.#socket.destroyed; ) {
			const block = takeBlock(Math.min(left, turns.readBytes));
			const length = Math.max(turns.pipe.read(block), 0);
			left -= length;
			// A turn at the end of a tick counts for the next one, in which the socket may go on.
			this.#countBytes(length);
			isFull = turns.recordRead(length);
			const bytes = keepBlock(block, length);
			if (length > 0) this.#events.data(bytes);
		}
		if (isFull && !this.#isPaused && !this.#socket.destroyed) {
			this.#awaitTurn();
			return;
		}
		turns.end();
		this.#isTurnHeld = isFull;
		if (!isFull) this.#readOn();
	}

	#isBurst(length: number): boolean {
		const now = performance.now();
		const smallBytes = this.#smallReads > MAX_SMALL_READS ? SMALL_DELAYED_READ_BYTES : SMALL_READ_BYTES;
		if (length >= smallBytes || now - this.#lastRead > MAX_BURST_GAP_MS) this.#smallReads = 0;
		else this.#smallReads++;
		this.#lastRead = now;
		return this.#smallReads > MAX_SMALL_READS;
	}

	#readOn(): void {
		clearTimeout(this.#coalesceTimer);
		this.#coalesceTimer = undefined;
		this.#isYielding = false;
		if (!this.#isPaused && !this.#socket.destroyed) this.#socket.resume();
	}

	#drain(maxBytes: number): void {
		for (let left = maxBytes; left > 0; ) {
			let length: number;
			try {
				length = readSync(this.#fd, readBuffer, 0, Math.min(MAX_READ_BYTES, left), null);
			} catch {
				return;
			}
			if (length === 0) return;
			this.#events.data(copyChunk(readBuffer, length));
			left -= length;
		}
	}

	#handleClose(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#flood?.close();
		this.#turns?.close();
		this.#events.end();
	}
}

/** Hooks into `_destroy`: a stream that fails closes its file descriptor before it emits any event. */
function hookDestroy(socket: Socket, callback: () => void): void {
	const destroy = socket._destroy.bind(socket);
	socket._destroy = (error, done) => {
		callback();
		destroy(error, done);
	};
}

type OnRead = {buffer: Uint8Array; callback: (length: number) => boolean};

function openSocket(fd: number, kind: 'pipe' | 'pty', onread: OnRead): Socket {
	try {
		return kind === 'pipe' ? new Socket(pipeOptions(fd, onread)) : new ReadStream(fd, terminalOptions(onread));
	} catch (error) {
		closeSync(fd);
		throw error;
	}
}

/**
 * Options with the members that Node sets in its copy of them, to the same values. For each member that is added to a copy
 * V8 makes a hidden class, which stays until the next full collection: a kilobyte for each socket.
 */
function pipeOptions(fd: number, onread: OnRead): object {
	return {
		fd,
		readable: true,
		writable: false,
		onread,
		allowHalfOpen: false,
		emitClose: false,
		autoDestroy: true,
		decodeStrings: false,
	};
}

function terminalOptions(onread: OnRead): object {
	return {onread, allowHalfOpen: true, emitClose: false, autoDestroy: true, decodeStrings: false};
}

let tick = 0;
let isCounting = false;

/** Number of the current tick of the event loop. Only ticks in which it is called are counted. */
export function currentTick(): number {
	if (!isCounting) {
		isCounting = true;
		setImmediate(() => {
			isCounting = false;
			tick++;
		});
	}
	return tick;
}
