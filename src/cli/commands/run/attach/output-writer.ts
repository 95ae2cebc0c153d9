import {fstatSync, type Stats} from 'node:fs';
import {isatty} from 'node:tty';
import type {OutputStream} from '../../../../client/process/process-handle.js';
import {Deferred} from '../../../../shared/async/deferred.js';
import {FileSink, type Sink, StreamSink} from './sink.js';

export const STDOUT = 1;
const STDERR = 2;

export interface BrokenStream {
	readonly stream: 'stdout' | 'stderr';
	readonly error: NodeJS.ErrnoException;
}

/** How a command ended, as far as it is known. */
export interface RunOutcome {
	readonly exitCode?: number | undefined;
	readonly reason: 'exit' | 'signal' | 'timeout' | 'aborted' | 'disconnected' | 'spawn';
	readonly error?: string | undefined;
}

/** Our own standard output and standard error, for the output of a process and for messages of our own. */
export class OutputWriter {
	/** Settles when one of the two cannot be written to any more. */
	readonly broken: Promise<BrokenStream>;
	readonly #broken = new Deferred<BrokenStream>();
	/** Opened when there is something to write: many commands say nothing, and are over sooner than a stream is made. */
	#stdout: Sink | undefined;
	#stderr: Sink | undefined;

	constructor() {
		this.broken = this.#broken.promise;
	}

	/** Undefined when there is room for more, else a promise of it. */
	write(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
		return (stream === 'stderr' ? this.#openStderr() : this.#openStdout()).write(bytes);
	}

	/** Output is missing here. */
	skip(_bytes: number | undefined): void {}

	/** Hears of the end of the command, after its output. */
	async report(_outcome: RunOutcome): Promise<void> {}

	/** Writes a message of our own to standard error. */
	say(text: string): void {
		void this.#openStderr().write(Buffer.from(text));
	}

	/** Settles when everything is out, or cannot get out any more. */
	async flush(): Promise<void> {
		await Promise.all([this.#stdout?.flush(), this.#stderr?.flush()]);
	}

	#openStdout(): Sink {
		this.#stdout ??= openSink(STDOUT, error => this.#broken.resolve({stream: 'stdout', error}));
		return this.#stdout;
	}

	/** One sink when both are the same file, so that their order is kept. */
	#openStderr(): Sink {
		this.#stderr ??= isSameFile()
			? this.#openStdout()
			: openSink(STDERR, error => this.#broken.resolve({stream: 'stderr', error}));
		return this.#stderr;
	}
}

function openSink(descriptor: number, broken: (error: Error) => void): Sink {
	const stats = readStats(descriptor);
	const isStream = isatty(descriptor) || stats?.isFIFO() || stats?.isSocket();
	// A descriptor cannot be opened twice for events: where the runtime does, its own stream is used.
	if (isStream) return new StreamSink(descriptor === STDOUT ? process.stdout : process.stderr, broken);
	return new FileSink(descriptor, broken);
}

function isSameFile(): boolean {
	if (isatty(STDOUT) || isatty(STDERR)) return false;
	const [one, other] = [readStats(STDOUT), readStats(STDERR)];
	return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

function readStats(descriptor: number): Stats | undefined {
	try {
		return fstatSync(descriptor);
	} catch {
		// Closed by the program that started us; a write reports it.
		return undefined;
	}
}
