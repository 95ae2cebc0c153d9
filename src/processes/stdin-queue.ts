import {LongarmError} from '../shared/errors.js';
import type {StdinWriter} from './backends/backend.js';

/** Chunks on their way into the child before the next write has to wait. */
export const MAX_QUEUED_STDIN_CHUNKS = 128;
/** The same in bytes, so that few large chunks do not count as little. */
export const MAX_QUEUED_STDIN_BYTES = 16 * 1024 * 1024;
/** Bytes in writes that wait for a place in the queue; beyond it a write is refused. */
export const MAX_WAITING_STDIN_BYTES = 64 * 1024 * 1024;
/** Accepted write ids that are remembered, the oldest forgotten first. */
export const MAX_REMEMBERED_WRITE_IDS = 4096;

interface Waiting {
	readonly bytes: Uint8Array;
	readonly writeId: string | undefined;
	readonly accept: () => void;
	readonly refuse: (error: LongarmError) => void;
}

/**
 * Ordered, idempotent writes to a child's standard input. A child that does not read makes its own writers wait and
 * nobody else. An id is remembered in the same step in which its bytes are queued, so a repeated write never lands twice.
 */
export class StdinQueue {
	readonly #processId: string;
	readonly #accepted = new Set<string>();
	readonly #waiting: Waiting[] = [];
	#waitingBytes = 0;
	#admitting = false;
	#queuedChunks = 0;
	#queuedBytes = 0;
	#isClosed = false;
	#endPassedOn = false;
	#target: {kind: 'open'; writer: StdinWriter} | {kind: 'gone'} | {kind: 'terminated'};

	constructor(processId: string, writer: StdinWriter) {
		this.#processId = processId;
		this.#target = {kind: 'open', writer};
	}

	/** Settles when the bytes are queued for the child, in the order of the calls. */
	write(bytes: Uint8Array, writeId: string | undefined): void | Promise<void> {
		if (this.#isRepeated(writeId)) return;
		if (this.#target.kind === 'terminated') throw this.#failure();
		if (this.#waiting.length === 0 && this.#hasRoom()) {
			this.#enqueue(bytes, writeId);
			return;
		}
		if (this.#waitingBytes + bytes.length > MAX_WAITING_STDIN_BYTES) throw this.#backlogFull();
		return new Promise((accept, refuse) => {
			this.#waiting.push({bytes, writeId, accept, refuse});
			this.#waitingBytes += bytes.length;
		});
	}

	/** End of input behind everything written so far; no more may be written. */
	end(): void {
		this.#isClosed = true;
		this.#passOnEnd();
	}

	get ended(): boolean {
		return this.#isClosed;
	}

	/** The child has ended: whatever is or will be written vanishes without an error. */
	exited(): void {
		this.#release({kind: 'gone'});
	}

	/** The child was ended by us: what waits and what comes is refused. */
	terminated(): void {
		for (const {bytes, refuse} of this.#waiting.splice(0)) {
			this.#waitingBytes -= bytes.length;
			refuse(this.#failure());
		}
		this.#release({kind: 'terminated'});
	}

	#release(target: {kind: 'gone'} | {kind: 'terminated'}): void {
		if (this.#target.kind === 'open') this.#target.writer.destroy();
		if (this.#target.kind !== 'terminated') this.#target = target;
		this.#admit();
	}

	#hasRoom(): boolean {
		return (
			this.#target.kind !== 'open' ||
			(this.#queuedChunks < MAX_QUEUED_STDIN_CHUNKS && this.#queuedBytes < MAX_QUEUED_STDIN_BYTES)
		);
	}

	#enqueue(bytes: Uint8Array, writeId: string | undefined): void {
		this.#remember(writeId);
		if (this.#target.kind !== 'open') return;
		this.#queuedChunks++;
		this.#queuedBytes += bytes.length;
		this.#target.writer.write(bytes, () => {
			this.#queuedChunks--;
			this.#queuedBytes -= bytes.length;
			this.#admit();
		});
	}

	#admit(): void {
		// A writer may be done with a chunk before it returns: those in line are served by this loop, not by nested ones.
		if (this.#admitting) return;
		this.#admitting = true;
		while (this.#waiting.length > 0 && this.#hasRoom()) {
			const {bytes, writeId, accept} = this.#waiting.shift()!;
			this.#waitingBytes -= bytes.length;
			if (!this.#isRepeated(writeId)) this.#enqueue(bytes, writeId);
			accept();
		}
		this.#admitting = false;
		if (this.#isClosed) this.#passOnEnd();
	}

	#passOnEnd(): void {
		if (this.#endPassedOn || this.#waiting.length > 0 || this.#target.kind !== 'open') return;
		this.#endPassedOn = true;
		this.#target.writer.end();
	}

	#isRepeated(writeId: string | undefined): boolean {
		return writeId !== undefined && this.#accepted.has(writeId);
	}

	#remember(writeId: string | undefined): void {
		if (writeId === undefined) return;
		this.#accepted.add(writeId);
		if (this.#accepted.size > MAX_REMEMBERED_WRITE_IDS) {
			const [oldest] = this.#accepted;
			this.#accepted.delete(oldest!);
		}
	}

	#failure(): LongarmError {
		return new LongarmError('STDIN_FAILED', {
			message: 'failed to write to process stdin',
			context: {processId: this.#processId},
		});
	}

	#backlogFull(): LongarmError {
		return new LongarmError('STDIN_BACKLOG_FULL', {
			message: `process ${this.#processId} does not read its stdin and ${this.#waitingBytes} bytes are waiting already`,
			context: {processId: this.#processId, waitingBytes: this.#waitingBytes, limit: MAX_WAITING_STDIN_BYTES},
		});
	}
}
