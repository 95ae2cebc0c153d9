import {LongarmError} from '../shared/errors.js';
import type {StdinWriter} from './backends/backend.js';
import {InputBudget} from './input-budget.js';

/** Chunks queued for the child before the next write has to wait. */
export const MAX_QUEUED_STDIN_CHUNKS = 128;
/** The same bound in bytes, for few but large chunks. */
export const MAX_QUEUED_STDIN_BYTES = 16 * 1024 * 1024;
/** Bytes of writes that wait for room in the queue; beyond it a write is rejected. */
export const MAX_WAITING_STDIN_BYTES = 64 * 1024 * 1024;
/** Accepted write ids that are remembered for deduplication, the oldest dropped first. */
export const MAX_REMEMBERED_WRITE_IDS = 4096;

interface WaitingWrite {
	readonly bytes: Uint8Array;
	readonly writeId?: string | undefined;
}

interface PendingWrite extends WaitingWrite {
	readonly accept: () => void;
	readonly refuse: (error: LongarmError) => void;
}

type Target =
	| {readonly kind: 'open'; readonly writer: StdinWriter}
	| {readonly kind: 'gone'}
	| {readonly kind: 'terminated'};

/** A queue for another program. */
export interface StdinState {
	/** In the order in which they were accepted. */
	readonly acceptedIds: readonly string[];
	/** Accepted, but not taken by the kernel. */
	readonly unwritten: readonly Uint8Array[];
	/** Wait for room in the queue; nobody has been told yet that they are accepted. */
	readonly waiting: readonly WaitingWrite[];
	readonly isClosed: boolean;
	readonly isEndWritten: boolean;
	/** The writer has yet to close the pipe. */
	readonly isEnding: boolean;
	readonly target: Target['kind'];
}

/**
 * Queue of ordered, idempotent writes to a child's standard input, with back-pressure: a child that does not read delays
 * its own writers and no others. An id is remembered in the same step in which its bytes are queued, so a repeated write
 * never lands twice.
 */
export class StdinQueue {
	readonly #processId: string;
	readonly #acceptedIds = new Set<string>();
	readonly #pendingWrites: PendingWrite[] = [];
	#pendingBytes = 0;
	#isAdmitting = false;
	readonly #budget: InputBudget;
	#queuedChunks = 0;
	#queuedBytes = 0;
	#isClosed: boolean;
	#isEndWritten: boolean;
	#target: Target;

	/** Goes on from the state of a queue of another program. The budget is shared with other processes. */
	constructor(processId: string, writer: StdinWriter, budget = new InputBudget(), state?: StdinState) {
		this.#processId = processId;
		this.#budget = budget;
		this.#target = !state || state.target === 'open' ? {kind: 'open', writer} : {kind: state.target};
		this.#isClosed = state?.isClosed ?? false;
		this.#isEndWritten = state?.isEndWritten ?? false;
		if (state) this.#resume(state, writer);
	}

	#resume({acceptedIds, unwritten, isEnding, waiting}: StdinState, writer: StdinWriter): void {
		for (const id of acceptedIds) this.#acceptedIds.add(id);
		for (const bytes of unwritten) if (bytes.length > 0) this.#enqueue(bytes, undefined);
		if (isEnding) writer.end();
		for (const {bytes, writeId} of waiting) {
			this.#pendingWrites.push({bytes, writeId, accept: () => {}, refuse: () => {}});
			this.#addPending(bytes.length);
		}
		this.#admitPending();
	}

	/** Everything that a queue of another program needs to go on. */
	handOver(): StdinState {
		const remainder = this.#target.kind === 'open' ? this.#target.writer.handOver?.() : undefined;
		return {
			acceptedIds: [...this.#acceptedIds],
			unwritten: remainder?.unwritten ?? [],
			waiting: this.#pendingWrites.map(({bytes, writeId}) => ({bytes, writeId})),
			isClosed: this.#isClosed,
			isEndWritten: this.#isEndWritten,
			isEnding: remainder?.isEnding ?? false,
			target: this.#target.kind,
		};
	}

	/** Settles when the bytes are queued for the child, in the order of the calls. */
	write(bytes: Uint8Array, writeId: string | undefined): void | Promise<void> {
		if (this.#isRepeated(writeId)) return;
		if (this.#target.kind === 'terminated') throw this.#stdinFailedError();
		if (this.#pendingWrites.length === 0 && this.#hasRoom()) {
			this.#enqueue(bytes, writeId);
			return;
		}
		const isTooMuch = this.#pendingBytes + bytes.length > MAX_WAITING_STDIN_BYTES;
		if (isTooMuch || !this.#budget.mayWait(bytes.length)) throw this.#backlogFullError();
		return new Promise((accept, refuse) => {
			this.#pendingWrites.push({bytes, writeId, accept, refuse});
			this.#addPending(bytes.length);
		});
	}

	/** End of input after everything written so far; no more may be written. */
	end(): void {
		this.#isClosed = true;
		this.#writeEnd();
	}

	get isEnded(): boolean {
		return this.#isClosed;
	}

	/** Whether bytes that are written now would get lost: the child has exited or closed its input. */
	loses(writeId: string | undefined): boolean {
		if (this.#isRepeated(writeId)) return false;
		return this.#target.kind !== 'open' || this.#target.writer.isBroken?.() === true;
	}

	/** The child has exited: pending and later writes are dropped without an error. */
	discardWrites(): void {
		this.#closeTarget({kind: 'gone'});
	}

	/** The child was terminated: pending and later writes are rejected. */
	rejectWrites(): void {
		for (const {bytes, refuse} of this.#pendingWrites.splice(0)) {
			this.#addPending(-bytes.length);
			refuse(this.#stdinFailedError());
		}
		this.#closeTarget({kind: 'terminated'});
	}

	#closeTarget(target: {kind: 'gone'} | {kind: 'terminated'}): void {
		const wasOpen = this.#target.kind === 'open';
		if (this.#target.kind === 'open') this.#target.writer.destroy();
		if (this.#target.kind !== 'terminated') this.#target = target;
		if (wasOpen) this.#addQueued(-this.#queuedBytes);
		this.#admitPending();
	}

	/** A process that has read everything is always given more, whatever others have not read. */
	#hasRoom(): boolean {
		if (this.#target.kind !== 'open' || this.#queuedChunks === 0) return true;
		const hasOwnRoom = this.#queuedChunks < MAX_QUEUED_STDIN_CHUNKS && this.#queuedBytes < MAX_QUEUED_STDIN_BYTES;
		return hasOwnRoom && this.#budget.hasRoom;
	}

	#addPending(bytes: number): void {
		this.#pendingBytes += bytes;
		this.#budget.addWaiting(bytes);
	}

	#addQueued(bytes: number): void {
		this.#queuedBytes += bytes;
		this.#budget.addQueued(bytes);
	}

	#enqueue(bytes: Uint8Array, writeId: string | undefined): void {
		this.#rememberId(writeId);
		if (this.#target.kind !== 'open') return;
		this.#queuedChunks++;
		this.#addQueued(bytes.length);
		this.#target.writer.write(bytes, () => {
			this.#queuedChunks--;
			// All of them were given back if the target has closed meanwhile.
			if (this.#target.kind === 'open') this.#addQueued(-bytes.length);
			this.#admitPending();
		});
	}

	#admitPending(): void {
		// Re-entrancy guard: a writer may call `done` before `write` returns; this loop admits the rest, not a nested one.
		if (this.#isAdmitting) return;
		this.#isAdmitting = true;
		while (this.#pendingWrites.length > 0 && this.#hasRoom()) {
			const {bytes, writeId, accept} = this.#pendingWrites.shift()!;
			this.#addPending(-bytes.length);
			if (!this.#isRepeated(writeId)) this.#enqueue(bytes, writeId);
			accept();
		}
		this.#isAdmitting = false;
		if (this.#isClosed) this.#writeEnd();
	}

	#writeEnd(): void {
		if (this.#isEndWritten || this.#pendingWrites.length > 0 || this.#target.kind !== 'open') return;
		this.#isEndWritten = true;
		this.#target.writer.end();
	}

	#isRepeated(writeId: string | undefined): boolean {
		return writeId !== undefined && this.#acceptedIds.has(writeId);
	}

	#rememberId(writeId: string | undefined): void {
		if (writeId === undefined) return;
		this.#acceptedIds.add(writeId);
		if (this.#acceptedIds.size > MAX_REMEMBERED_WRITE_IDS) {
			const [oldest] = this.#acceptedIds;
			this.#acceptedIds.delete(oldest!);
		}
	}

	#stdinFailedError(): LongarmError {
		return new LongarmError('STDIN_FAILED', {
			message: 'failed to write to process stdin',
			context: {processId: this.#processId},
		});
	}

	#backlogFullError(): LongarmError {
		return new LongarmError('STDIN_BACKLOG_FULL', {
			message: `process ${this.#processId} does not read its stdin and ${this.#pendingBytes} bytes are waiting already`,
			context: {processId: this.#processId, waitingBytes: this.#pendingBytes, limit: MAX_WAITING_STDIN_BYTES},
		});
	}
}
