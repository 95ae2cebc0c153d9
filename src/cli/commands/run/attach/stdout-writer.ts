import {fstatSync, type Stats} from 'node:fs';
import {isatty} from 'node:tty';
import type {OutputStream} from '../../../../client/process/process-handle.js';
import {FileSink, type Sink, StreamSink} from './sink.js';

const STDOUT = 1;
const STDERR = 2;

export interface Broken {
	readonly stream: 'stdout' | 'stderr';
	readonly error: NodeJS.ErrnoException;
}

/** Our own standard output and standard error, for the output of a process and for what we have to say ourselves. */
export class OutputWriter {
	/** Settles when one of the two cannot be written to any more. */
	readonly broken: Promise<Broken>;
	#tell!: (broken: Broken) => void;
	/** Opened when there is something to write: many commands say nothing, and are over sooner than a stream is made. */
	#stdout: Sink | undefined;
	#stderr: Sink | undefined;

	constructor() {
		this.broken = new Promise(resolve => {
			this.#tell = resolve;
		});
	}

	/** Undefined when there is room for more, else a promise of it. */
	write(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
		return (stream === 'stderr' ? this.#openStderr() : this.#openStdout()).write(bytes);
	}

	/** A word of our own, on standard error. */
	say(text: string): void {
		void this.#openStderr().write(Buffer.from(text));
	}

	/** Settles when everything is out, or cannot get out any more. */
	async flushed(): Promise<void> {
		await Promise.all([this.#stdout?.flushed(), this.#stderr?.flushed()]);
	}

	#openStdout(): Sink {
		this.#stdout ??= openSink(STDOUT, error => this.#tell({stream: 'stdout', error}));
		return this.#stdout;
	}

	/** What goes to the same place keeps its order. */
	#openStderr(): Sink {
		this.#stderr ??= isSamePlace()
			? this.#openStdout()
			: openSink(STDERR, error => this.#tell({stream: 'stderr', error}));
		return this.#stderr;
	}
}

function openSink(descriptor: number, broken: (error: Error) => void): Sink {
	const stats = statsOf(descriptor);
	const isStream = isatty(descriptor) || stats?.isFIFO() || stats?.isSocket();
	// A descriptor cannot be opened twice for events: where the runtime does, its own stream is used.
	if (isStream) return new StreamSink(descriptor === STDOUT ? process.stdout : process.stderr, broken);
	return new FileSink(descriptor, broken);
}

function isSamePlace(): boolean {
	if (isatty(STDOUT) || isatty(STDERR)) return false;
	const [one, other] = [statsOf(STDOUT), statsOf(STDERR)];
	return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

function statsOf(descriptor: number): Stats | undefined {
	try {
		return fstatSync(descriptor);
	} catch {
		// Closed by whoever started us; writing to it tells.
		return undefined;
	}
}
