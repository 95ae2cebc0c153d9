import {onAbort} from '../../shared/async/on-abort.js';
import {inputRefusalOf} from '../process/input-closed.js';
import type {ProcessHandle} from '../process/process-handle.js';

/** Size of one write; longer input is split. */
export const MAX_INPUT_PIECE_BYTES = 256 * 1024;
/** Writes before the event loop gets a turn. */
const MAX_PIECES_PER_TURN = 64;

/** Input of a process: text, bytes, or pieces of both as they come. */
export type Input = string | Uint8Array | AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

export interface WriteInputOptions {
	/** Pipelined writes; one by default. More are for servers that process writes in the order they arrive. */
	readonly maxPendingWrites?: number | undefined;
	/** Takes no more of the input when it is aborted. */
	readonly signal?: AbortSignal | undefined;
}

/** Writes the input and closes it. A process that does not read all of it is no failure, one without an input is. */
export async function writeInput(process: ProcessHandle, input: Input, options: WriteInputOptions = {}): Promise<void> {
	const writes = new PendingWrites(process, options.maxPendingWrites ?? 1);
	const close = (): void => writes.close();
	process.exited.then(close, close);
	const stopListening = onAbort(options.signal, close);
	let count = 0;
	for await (const piece of splitInput(input)) {
		await writes.add(piece);
		// Servers may accept writes to a process that has exited: without a turn of the event loop its exit is not noticed.
		if (++count % MAX_PIECES_PER_TURN === 0) await new Promise(resolve => setTimeout(resolve));
		if (writes.isClosed) break;
	}
	await writes.whenSettled();
	stopListening();
	if (!writes.isClosed) await process.closeStdin();
}

/** Window of pipelined writes, in order. */
class PendingWrites {
	readonly #process: ProcessHandle;
	readonly #maxPending: number;
	readonly #pending = new Set<Promise<void>>();
	#isClosed = false;

	constructor(process: ProcessHandle, maxPending: number) {
		this.#process = process;
		this.#maxPending = maxPending;
	}

	/** True if the process accepts no more input. */
	get isClosed(): boolean {
		return this.#isClosed;
	}

	close(): void {
		this.#isClosed = true;
	}

	/** Resolves when there is room for the next write; rejects when one has failed. */
	async add(bytes: Uint8Array): Promise<void> {
		const write = this.#write(bytes);
		this.#pending.add(write);
		const remove = (): void => void this.#pending.delete(write);
		// A failed write stays in the window, so that the next `add` or `whenSettled` rejects with it.
		write.then(remove, () => {});
		if (this.#pending.size >= this.#maxPending) await Promise.race(this.#pending);
	}

	async whenSettled(): Promise<void> {
		await Promise.all(this.#pending);
	}

	async #write(bytes: Uint8Array): Promise<void> {
		try {
			await this.#process.write(bytes);
		} catch (error) {
			const refusal = inputRefusalOf(error);
			if (refusal === undefined || refusal === 'noStdin') throw error;
			this.close();
		}
	}
}

async function* splitInput(input: Input): AsyncGenerator<Uint8Array, void, void> {
	const chunks = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
	for await (const chunk of chunks) {
		const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
		for (let at = 0; at < bytes.length; at += MAX_INPUT_PIECE_BYTES)
			yield bytes.subarray(at, at + MAX_INPUT_PIECE_BYTES);
	}
}
