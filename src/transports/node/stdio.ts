import {isUtf8} from 'node:buffer';
import {fstatSync} from 'node:fs';
import {Socket} from 'node:net';
import type {Readable, Writable} from 'node:stream';
import type {Frame} from '../../protocol/wire/encode.js';
import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import type {Transport, TransportEvents} from '../transport.js';
import {deliverMessage} from './extract-payload.js';
import {frameToBuffer} from './frame-bytes.js';
import type {Endpoint, EndpointOptions} from './transport-scheme.js';

/** Bytes of a blank line: the white space of ASCII. Other control characters make a message, if a malformed one. */
const WHITE_SPACE: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20]);
/** How long the reader of our stdout may take for the rest when the server ends. */
const GOODBYE_MS = 1000;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** One message per line. What is not UTF-8, and a line that is too long, end the connection. */
export class StdioTransport implements Transport {
	readonly kind = 'stdio';
	readonly peer = 'stdio';
	readonly #input: Readable;
	readonly #output: Writable;
	#events: TransportEvents | undefined;
	#corked = false;
	#isClosed = false;

	constructor(input: Readable, output: Writable) {
		this.#input = input;
		this.#output = output;
	}

	get backlog(): number {
		return this.#output.writableLength;
	}

	open(events: TransportEvents): void {
		this.#events = events;
		const lines = new LineSplitter(MAX_MESSAGE_BYTES);
		this.#input.on('data', (data: Buffer) => {
			for (const line of lines.push(data)) {
				if (this.#isClosed) return;
				this.#line(line);
			}
			if (lines.overflowed) this.#end(new Error(`line exceeds ${MAX_MESSAGE_BYTES} bytes`));
		});
		this.#input.once('end', () => this.#end());
		this.#input.once('close', () => this.#end());
		this.#input.once('error', error => this.#end(error));
		this.#output.once('error', error => this.#end(error));
		this.#output.on('drain', () => events.drained());
	}

	send(frame: Frame): void {
		if (this.#isClosed || this.#output.writableEnded) return;
		this.#cork();
		this.#output.write(typeof frame === 'string' ? frame : frameToBuffer(frame));
		this.#output.write('\n');
	}

	pause(): void {
		this.#input.pause();
	}

	resume(): void {
		this.#input.resume();
	}

	close(): void {
		if (this.#isClosed) return;
		this.#output.end(() => this.#end());
	}

	destroy(): void {
		this.#end();
	}

	/** Ends the output, which outlives the input; settles when all of it was taken or the reader has left. */
	flushed(): Promise<void> {
		return new Promise(resolve => {
			this.#output.once('close', resolve);
			this.#output.end(() => resolve());
		});
	}

	#line(line: Buffer): void {
		if (!isUtf8(line)) {
			this.#end(new Error('invalid UTF-8'));
			return;
		}
		const isBlank = line.every(byte => WHITE_SPACE.has(byte));
		if (!isBlank) deliverMessage(this.#events!, line);
	}

	#end(error?: Error): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#input.pause();
		this.#events?.closed(error);
	}

	/** All messages of one turn of the event loop go to the kernel in one call. */
	#cork(): void {
		if (this.#corked) return;
		this.#corked = true;
		this.#output.cork();
		setImmediate(() => {
			this.#corked = false;
			this.#output.uncork();
		});
	}
}

/** Serves the program that started this one, on our own standard input and output. */
export function listenOnStdio<Pass>({ready, accept, inspect}: EndpointOptions<Pass>): Endpoint {
	const transport = ownStdio();
	const start = async (): Promise<void> => {
		const accepted = inspect ? await inspect(transport) : transport;
		if (!accepted) return;
		await ready;
		accept(accepted, undefined as Pass);
	};
	void start();
	return {
		url: undefined,
		renew: () => {},
		close: () => waitAtMost(transport.flushed(), GOODBYE_MS),
	};
}

/** The program's own standard input and output as a transport. */
export function ownStdio(): StdioTransport {
	return new StdioTransport(process.stdin, nonBlockingStdout());
}

/** `process.stdout` blocks the program while a pipe is full; a socket on the same descriptor does not. */
function nonBlockingStdout(): Writable {
	const stats = fstatSync(1);
	return stats.isFIFO() || stats.isSocket() ? new Socket({fd: 1, readable: false, writable: true}) : process.stdout;
}

/** Cuts a stream of bytes into lines without their terminators. Holds at most one unfinished line of `maxBytes`. */
export class LineSplitter {
	readonly #maxBytes: number;
	#parts: Buffer[] = [];
	#length = 0;
	#overflowed = false;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** A line was longer than allowed; nothing more is returned. */
	get overflowed(): boolean {
		return this.#overflowed;
	}

	push(data: Buffer): Buffer[] {
		const lines: Buffer[] = [];
		let start = 0;
		while (!this.#overflowed) {
			const end = data.indexOf(NEWLINE, start);
			this.#keep(data.subarray(start, end < 0 ? data.length : end));
			if (end < 0) break;
			if (!this.#overflowed) lines.push(this.#take());
			start = end + 1;
		}
		return lines;
	}

	#keep(part: Buffer): void {
		this.#length += part.length;
		this.#overflowed = this.#length > this.#maxBytes;
		if (this.#overflowed) this.#parts = [];
		else if (part.length > 0) this.#parts.push(part);
	}

	#take(): Buffer {
		const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#length);
		this.#parts = [];
		this.#length = 0;
		return line.at(-1) === RETURN ? line.subarray(0, -1) : line;
	}
}
