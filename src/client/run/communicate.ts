import {type OptionTable, readOptions} from '../../shared/call-options.js';
import {HeadTailBuffer} from '../../shared/head-tail-buffer.js';
import type {ExitStatus, Output, ProcessHandle} from '../process/process-handle.js';
import {OutputDecoder, type TextPiece, type TextStream, textStreamOf} from '../process/text-streams.js';
import {type Input, writeInput} from './write-input.js';

/** Options of `communicate`. */
export interface CommunicateOptions {
	/** Written to the standard input, which is closed then. */
	readonly input?: Input | undefined;
	/** Bytes kept of each stream, half of its beginning and half of its end; the rest is counted. */
	readonly maxBytes?: number | undefined;
	/** Called with every chunk of output as it arrives, retained or not. The next waits while a promise of it is pending. */
	readonly onOutput?: ((output: Output) => void | Promise<void>) | undefined;
	/** Called with the standard output as text, on a terminal with both streams; a line tells of output that was lost. */
	readonly onStdout?: ((text: string) => void) | undefined;
	/** The same for the standard error. */
	readonly onStderr?: ((text: string) => void) | undefined;
}

export const COMMUNICATE_OPTIONS: OptionTable<CommunicateOptions> = {
	input: 'any',
	maxBytes: 'count',
	onOutput: 'function',
	onStdout: 'function',
	onStderr: 'function',
};

/** Collected output of one stream. */
export class Collected {
	/** Bytes the process wrote, kept or not, except gaps of unknown size. */
	readonly totalBytes: number;
	/** Bytes missing between head and tail. */
	readonly omittedBytes: number;
	/** True if an unknown amount of output was lost. */
	readonly hasUnknownGap: boolean;
	readonly bytes: Uint8Array;
	/** The same with a line between head and tail that tells how much is missing. */
	readonly markedBytes: Uint8Array;

	constructor(buffer: HeadTailBuffer, hasUnknownGap: boolean) {
		this.totalBytes = buffer.total;
		this.omittedBytes = buffer.omitted;
		this.hasUnknownGap = hasUnknownGap;
		this.bytes = buffer.bytes();
		this.markedBytes = buffer.markedBytes();
	}

	/** The whole output, or head and tail with a line between them that tells how much is missing. */
	get text(): string {
		return new TextDecoder().decode(this.markedBytes);
	}

	toString(): string {
		return this.text;
	}
}

/** Collected output and exit of a process. */
export interface Communicated {
	readonly exit: ExitStatus;
	/** False if output was lost, which the server did not keep while the connection was lost. */
	readonly isComplete: boolean;
	/** On a terminal, both streams. */
	readonly stdout: Collected;
	readonly stderr: Collected;
}

/** Collects the output of a process within bounds. */
export class Collector {
	readonly #buffers: Record<'stdout' | 'stderr', HeadTailBuffer>;
	readonly #gaps = {stdout: false, stderr: false};
	#hasGap = false;
	readonly #onOutput: (output: Output) => void | Promise<void>;
	readonly #texts: TextListeners | undefined;

	constructor({maxBytes, onOutput = () => {}, onStdout, onStderr}: CommunicateOptions) {
		this.#buffers = {stdout: new HeadTailBuffer(maxBytes), stderr: new HeadTailBuffer(maxBytes)};
		this.#onOutput = onOutput;
		if (onStdout || onStderr) this.#texts = new TextListeners(onStdout, onStderr);
	}

	async collect(process: ProcessHandle): Promise<void> {
		for await (const output of process.output()) {
			if (output.kind === 'output') this.#buffers[textStreamOf(output.stream)].push(output.bytes);
			else this.#recordGap(output.missedBytes);
			const taken = this.#onOutput(output);
			if (taken) await taken;
			this.#texts?.tell(output);
		}
		this.#texts?.end();
	}

	/** True if output was lost before it arrived. */
	get hasGap(): boolean {
		return this.#hasGap;
	}

	get stdout(): Collected {
		return new Collected(this.#buffers.stdout, this.#gaps.stdout);
	}

	get stderr(): Collected {
		return new Collected(this.#buffers.stderr, this.#gaps.stderr);
	}

	/** Gaps do not name their stream; they are recorded for stdout. */
	#recordGap(bytes: number | undefined): void {
		this.#hasGap = true;
		if (bytes === undefined) this.#gaps.stdout = true;
		else this.#buffers.stdout.skip(bytes);
	}
}

/** Hands decoded output to the listener of its stream. */
class TextListeners {
	readonly #decoder = new OutputDecoder();
	readonly #listeners: Readonly<Record<TextStream, CommunicateOptions['onStdout']>>;

	constructor(stdout: CommunicateOptions['onStdout'], stderr: CommunicateOptions['onStderr']) {
		this.#listeners = {stdout, stderr};
	}

	/** A gap is told to whoever listens. */
	tell(output: Output): void {
		this.#hand(this.#decoder.decode(output, this.#listeners.stdout ? 'stdout' : 'stderr'));
	}

	end(): void {
		this.#hand(this.#decoder.end());
	}

	#hand(pieces: readonly TextPiece[]): void {
		for (const {stream, text} of pieces) this.#listeners[stream]?.(text);
	}
}

/** Writes the input and collects the output of a process until both have ended. Rejects when the process is lost. */
export async function communicate(process: ProcessHandle, options: CommunicateOptions = {}): Promise<Communicated> {
	readOptions<CommunicateOptions>(options, COMMUNICATE_OPTIONS, 'communicate()');
	const collector = new Collector(options);
	const writing = options.input === undefined ? Promise.resolve() : writeInput(process, options.input);
	await Promise.all([collector.collect(process), writing]);
	const exit = await process.exited;
	return {exit, isComplete: !collector.hasGap, stdout: collector.stdout, stderr: collector.stderr};
}
