import type {ProcessHandle} from '../process/process-handle.js';

/** Input is handed over in pieces of at most this size. */
export const INPUT_BYTES = 256 * 1024;
/** And this many before everything else has its turn. */
const PIECES_PER_TURN = 64;

export type Input = string | Uint8Array | AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

export interface WriteInputOptions {
	/**
	 * Writes that may wait for their answer at a time; one by default. More are for servers that keep the order in which
	 * writes arrive.
	 */
	readonly writesUnderWay?: number | undefined;
}

/** Writes the input and closes it. A process that does not want to read all of it is not a failure. */
export async function writeInput(process: ProcessHandle, input: Input, options: WriteInputOptions = {}): Promise<void> {
	const writes = new PendingWrites(process, options.writesUnderWay ?? 1);
	const stop = (): void => writes.stop();
	process.exited.then(stop, stop);
	let count = 0;
	for await (const piece of pieces(input)) {
		await writes.add(piece);
		// Writes to a process that is gone are taken, too; that it is gone has to be heard of in between.
		if (++count % PIECES_PER_TURN === 0) await new Promise(resolve => setTimeout(resolve));
		if (writes.isOver) break;
	}
	await writes.settled();
	if (!writes.isOver) await process.closeStdin();
}

/** Writes in their order, some of them at a time. */
class PendingWrites {
	readonly #process: ProcessHandle;
	readonly #atATime: number;
	readonly #underWay = new Set<Promise<void>>();
	#isClosed = false;

	constructor(process: ProcessHandle, atATime: number) {
		this.#process = process;
		this.#atATime = atATime;
	}

	/** Whether the process takes no more. */
	get isOver(): boolean {
		return this.#isClosed;
	}

	stop(): void {
		this.#isClosed = true;
	}

	/** Settles when there is room for another one; rejects when one has failed. */
	async add(bytes: Uint8Array): Promise<void> {
		const write = this.#write(bytes);
		this.#underWay.add(write);
		const forget = (): void => void this.#underWay.delete(write);
		// Whoever waits for it learns of a failure.
		write.then(forget, () => {});
		if (this.#underWay.size >= this.#atATime) await Promise.race(this.#underWay);
	}

	async settled(): Promise<void> {
		await Promise.all(this.#underWay);
	}

	async #write(bytes: Uint8Array): Promise<void> {
		const {status} = await this.#process.write(bytes);
		if (status !== 'accepted') this.stop();
	}
}

async function* pieces(input: Input): AsyncGenerator<Uint8Array, void, void> {
	const chunks = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
	for await (const chunk of chunks) {
		const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
		for (let at = 0; at < bytes.length; at += INPUT_BYTES) yield bytes.subarray(at, at + INPUT_BYTES);
	}
}
