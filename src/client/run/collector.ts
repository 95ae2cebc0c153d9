import type {OptionTable} from '../../shared/call-options.js';
import {HeadTailBuffer} from '../../shared/head-tail-buffer.js';
import type {Output, ProcessHandle} from '../process/process-handle.js';
import {OutputDecoder, type TextPiece, type TextStream, textStreamOf} from '../process/text-streams.js';

/** Options that concern the output of a command. */
export interface CollectOptions {
	/** Bytes kept of each stream, half of its beginning and half of its end; the rest is counted. */
	readonly maxBytes?: number | undefined;
	/** Called with every chunk of output as it arrives, retained or not. The next waits while a promise of it is pending. */
	readonly onOutput?: ((output: Output) => void | Promise<void>) | undefined;
	/** Called with the standard output as text, on a terminal with both streams; a line tells of output that was lost. */
	readonly onStdout?: ((text: string) => void) | undefined;
	/** The same for the standard error. */
	readonly onStderr?: ((text: string) => void) | undefined;
}

export const COLLECT_OPTIONS: OptionTable<CollectOptions> = {
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

/** Collects the output of a process within bounds. */
export class Collector {
	readonly #buffers: Record<'stdout' | 'stderr', HeadTailBuffer>;
	readonly #gaps = {stdout: false, stderr: false};
	#hasGap = false;
	#pieces: AsyncIterableIterator<Output> | undefined;
	#isStopped = false;
	readonly #onOutput: (output: Output) => void | Promise<void>;
	readonly #texts: TextListeners | undefined;

	constructor({maxBytes, onOutput = () => {}, onStdout, onStderr}: CollectOptions) {
		this.#buffers = {stdout: new HeadTailBuffer(maxBytes), stderr: new HeadTailBuffer(maxBytes)};
		this.#onOutput = onOutput;
		if (onStdout || onStderr) this.#texts = new TextListeners(onStdout, onStderr);
	}

	async collect(process: ProcessHandle): Promise<void> {
		this.#pieces = process.output();
		for await (const output of this.#pieces) {
			if (this.#isStopped) break;
			if (output.kind === 'output') this.#buffers[textStreamOf(output.stream)].push(output.bytes);
			else this.#recordGap(output.missedBytes);
			const taken = this.#onOutput(output);
			if (taken) await taken;
			this.#texts?.tell(output);
		}
		if (!this.#isStopped) this.#texts?.end();
	}

	/** Takes no more output and calls nobody any more. */
	stop(): void {
		this.#isStopped = true;
		this.#pieces?.return?.().catch(() => {});
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
	readonly #listeners: Readonly<Record<TextStream, CollectOptions['onStdout']>>;

	constructor(stdout: CollectOptions['onStdout'], stderr: CollectOptions['onStderr']) {
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
