import {writev} from 'node:fs';
import type {Writable} from 'node:stream';

/** High-water mark of a slow file or pipe: above it the writer has to wait. */
export const MAX_WAITING_OUTPUT_BYTES = 256 * 1024;

/** One of our own standard streams. Errors come once, after which everything written vanishes. */
export interface Sink {
	/** Undefined when there is room for more, else a promise of it, which never rejects. */
	write(bytes: Uint8Array): Promise<void> | undefined;
	/** Settles when the operating system has taken everything, or never will. */
	flush(): Promise<void>;
}

/** For pipes, sockets and terminals. */
export class StreamSink implements Sink {
	readonly #stream: Writable;
	readonly #broken: (error: Error) => void;
	#isBroken = false;
	#drained: Promise<void> | undefined;
	#resolveDrained = (): void => {};

	constructor(stream: Writable, broken: (error: Error) => void) {
		this.#stream = stream;
		this.#broken = broken;
		stream.on('drain', () => this.#drain());
		stream.on('error', error => this.#break(error));
	}

	write(bytes: Uint8Array): Promise<void> | undefined {
		if (this.#isBroken || this.#stream.write(bytes) || this.#stream.writableLength <= MAX_WAITING_OUTPUT_BYTES)
			return undefined;
		this.#drained ??= new Promise(resolve => {
			this.#resolveDrained = resolve;
		});
		return this.#drained;
	}

	async flush(): Promise<void> {
		// A failure is known before its event, and has to be reported before this settles.
		if (this.#stream.errored) this.#break(this.#stream.errored);
		if (this.#isBroken || this.#stream.writableLength === 0) return;
		await new Promise<void>(resolve => {
			this.#stream.write(new Uint8Array(0), error => {
				if (error) this.#break(error);
				resolve();
			});
		});
	}

	#break(error: Error): void {
		if (this.#isBroken) return;
		this.#isBroken = true;
		this.#broken(error);
		this.#drain();
	}

	#drain(): void {
		this.#drained = undefined;
		this.#resolveDrained();
	}
}

/** For files and devices: written by a thread of the pool, so that a slow disk does not block the event loop. */
export class FileSink implements Sink {
	readonly #descriptor: number;
	readonly #broken: (error: Error) => void;
	#waiting: Uint8Array[] = [];
	#bytes = 0;
	#isWriting = false;
	#isBroken = false;
	#watchers: {readonly below: number; readonly tell: () => void}[] = [];

	constructor(descriptor: number, broken: (error: Error) => void) {
		this.#descriptor = descriptor;
		this.#broken = broken;
	}

	write(bytes: Uint8Array): Promise<void> | undefined {
		if (this.#isBroken) return undefined;
		this.#waiting.push(bytes);
		this.#bytes += bytes.length;
		if (!this.#isWriting) this.#writeSome();
		return this.#bytes > MAX_WAITING_OUTPUT_BYTES ? this.#waitUntil(MAX_WAITING_OUTPUT_BYTES) : undefined;
	}

	async flush(): Promise<void> {
		if (this.#bytes > 0) await this.#waitUntil(0);
	}

	#waitUntil(below: number): Promise<void> {
		return new Promise(tell => this.#watchers.push({below, tell}));
	}

	/** Appends: no position is given. */
	#writeSome(): void {
		const pieces = this.#waiting;
		this.#isWriting = true;
		this.#waiting = [];
		writev(this.#descriptor, pieces, (error, written) => {
			this.#isWriting = false;
			if (error) {
				this.#break(error);
				return;
			}
			this.#bytes -= written;
			this.#waiting.unshift(...dropFirst(pieces, written));
			this.#wakeWatchers();
			if (this.#bytes > 0) this.#writeSome();
		});
	}

	#break(error: Error): void {
		this.#isBroken = true;
		this.#waiting = [];
		this.#bytes = 0;
		this.#broken(error);
		this.#wakeWatchers();
	}

	#wakeWatchers(): void {
		const due = this.#watchers.filter(({below}) => this.#bytes <= below);
		this.#watchers = this.#watchers.filter(({below}) => this.#bytes > below);
		for (const {tell} of due) tell();
	}
}

function dropFirst(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
	let left = bytes;
	const rest: Uint8Array[] = [];
	for (const piece of pieces) {
		if (left < piece.length) rest.push(piece.subarray(left));
		left = Math.max(0, left - piece.length);
	}
	return rest;
}
