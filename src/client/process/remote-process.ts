import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {type CaughtUp, type KnownEvents, reconcile, reconcilePage} from '../session/reconcile.js';
import type {Caller} from '../session/session-client.js';
import {Acknowledger} from './acknowledger.js';
import {BaseProcess} from './base-process.js';
import type {PausableSource} from './event-stream.js';
import type {
	NumberedEvent,
	ProcessSnapshot,
	ReadOptions,
	ReadResult,
	Signal,
	TerminateMode,
	TerminateResult,
	WriteResult,
} from './process-handle.js';
import {ReorderBuffer, ReorderError} from './reorder-buffer.js';

export interface RemoteProcessOptions {
	/** With a source to pause, the first reader misses nothing. */
	readonly source?: PausableSource | undefined;
	/** Tells the server what that reader has taken. */
	readonly acknowledges?: boolean;
	/** Events up to this number are not delivered. */
	readonly afterSeq?: number | undefined;
	/** Makes the ids of writes differ from those of an earlier client. */
	readonly writePrefix?: string;
}

/** A process on another machine. */
export class RemoteProcess extends BaseProcess {
	/** True once the server has confirmed the start: only then can missed events be recovered. */
	isRecoverable = false;
	readonly #caller: Caller;
	readonly #buffer: ReorderBuffer;
	/** The server takes each write id once, whichever client it comes from. */
	readonly #writePrefix: string;
	#hasExited = false;
	#writes = 0;

	constructor(
		processId: string,
		caller: Caller,
		{source, acknowledges = false, afterSeq = 0, writePrefix = ''}: RemoteProcessOptions = {},
	) {
		const acknowledge = (seq: number): Promise<unknown> => caller.repeat('process/acknowledge', {processId, seq});
		super(processId, source && acknowledges ? new Acknowledger(source, acknowledge) : source);
		this.#caller = caller;
		this.#writePrefix = writePrefix;
		this.#buffer = new ReorderBuffer(event => this.publish(event));
		this.#buffer.skipThrough(afterSeq);
		this.raiseLastSeq(afterSeq);
	}

	async read(options: ReadOptions = {}): Promise<ReadResult> {
		if (this.failure !== undefined) return this.lostResult(this.failure);
		try {
			return await this.#caller.repeat('process/read', {...options, processId: this.processId});
		} catch (error) {
			if (error instanceof DisconnectedError) return this.lostResult(error.message);
			throw error;
		}
	}

	async snapshot(): Promise<ProcessSnapshot> {
		return this.#caller.repeat('process/snapshot', {processId: this.processId});
	}

	async write(bytes: Uint8Array | string): Promise<WriteResult> {
		const chunk = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
		const writeId = `${this.#writePrefix}${++this.#writes}`;
		return this.#caller.repeat('process/write', encodeWithBytes({processId: this.processId, writeId, chunk}));
	}

	async closeStdin(): Promise<void> {
		await this.#caller.repeat('process/closeStdin', {processId: this.processId});
	}

	async resize(size: {rows: number; cols: number}): Promise<void> {
		await this.#caller.call('process/resize', {processId: this.processId, ...size});
	}

	async signal(signal: Signal): Promise<void> {
		await this.#caller.call('process/signal', {processId: this.processId, signal});
	}

	async terminate(mode?: TerminateMode): Promise<TerminateResult> {
		return this.#caller.call('process/terminate', {processId: this.processId, ...(mode && {mode})});
	}

	/** Ends the process, if it has not ended, and everything below it. */
	async [Symbol.asyncDispose](): Promise<void> {
		if (this.isOver) return;
		try {
			await this.terminate();
		} catch (error) {
			// Without a connection the server ends it, with the session.
			if (!(error instanceof DisconnectedError)) throw error;
		}
	}

	/** Sequence number of the last published event. */
	get published(): number {
		return this.#buffer.published;
	}

	/** Set while missed events are still to be read: live ones that find no room before them are dropped and read, too. */
	set isCatchingUp(value: boolean) {
		this.#buffer.dropsExcess = value;
	}

	/** True if live events were dropped that have not been read since. */
	get hasDropped(): boolean {
		return this.#buffer.hasDropped;
	}

	/** Publishes missed events that the server has retained, and a gap for evicted output; throws when they do not fit. */
	catchUp(page: ReadResult): void {
		this.#take(reconcile(this.#known(), page), page);
	}

	/** The same with the first ones only; false if they cannot be told from an exit among them without the rest. */
	catchUpPartly(page: ReadResult): boolean {
		const caughtUp = reconcilePage(this.#known(), page);
		if (caughtUp) this.#take(caughtUp, page);
		return caughtUp !== undefined;
	}

	#known(): KnownEvents {
		return {published: this.published, hasExited: this.#hasExited, has: seq => this.#buffer.has(seq)};
	}

	#take({events, lostThrough}: CaughtUp, {missedBytes}: ReadResult): void {
		if (lostThrough !== undefined) {
			this.publish({kind: 'gap', afterSeq: this.published, throughSeq: lostThrough, missedBytes});
			this.#buffer.skipThrough(lostThrough);
		}
		for (const event of events) this.receive(event);
	}

	/** Accepts an event in any order; it is published in sequence order. */
	receive(event: NumberedEvent): void {
		if (this.failure !== undefined) return;
		this.raiseLastSeq(event.seq);
		try {
			this.#buffer.add(event);
			if (event.kind === 'exited') this.#hasExited ||= this.#buffer.has(event.seq);
		} catch (error) {
			if (!(error instanceof ReorderError)) throw error;
			this.fail(error.message);
		}
	}

	/** Marks the process as lost. */
	fail(message: string): void {
		this.publishFailure(message);
	}
}
