import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {reconcile} from '../session/reconcile.js';
import type {Caller} from '../session/session-client.js';
import {BaseProcess} from './base-process.js';
import type {Brake} from './held-events.js';
import type {
	NumberedEvent,
	ReadOptions,
	ReadResult,
	Signal,
	TerminateMode,
	TerminateResult,
	WriteResult,
} from './process-handle.js';
import {ReorderBuffer, ReorderError} from './reorder-buffer.js';

/** A process on another machine. */
export class RemoteProcess extends BaseProcess {
	/** Whether the server has confirmed its start, so that it can be caught up with. */
	isRecoverable = false;
	readonly #caller: Caller;
	readonly #buffer: ReorderBuffer;
	#hasExited = false;
	#writes = 0;

	constructor(processId: string, caller: Caller, brake?: Brake) {
		super(processId, brake);
		this.#caller = caller;
		this.#buffer = new ReorderBuffer(event => this.story.publish(event));
	}

	async read(options: ReadOptions = {}): Promise<ReadResult> {
		const {failure} = this.story;
		if (failure !== undefined) return this.story.lostResult(failure);
		try {
			return await this.#caller.repeat('process/read', {...options, processId: this.processId});
		} catch (error) {
			if (error instanceof DisconnectedError) return this.story.lostResult(error.message);
			throw error;
		}
	}

	async write(bytes: Uint8Array | string): Promise<WriteResult> {
		const chunk = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
		const writeId = String(++this.#writes);
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

	/** The number of the event that was published last. */
	get published(): number {
		return this.#buffer.published;
	}

	/** What the server has kept of what was missed; throws when that does not fit. Output that is gone is announced. */
	catchUp(page: ReadResult): void {
		const known = {
			published: this.published,
			hasExited: this.#hasExited,
			has: (seq: number) => this.#buffer.has(seq),
		};
		const {events, lostThrough} = reconcile(known, page);
		if (lostThrough !== undefined) {
			const {missedBytes} = page;
			this.story.publish({kind: 'gap', afterSeq: this.published, throughSeq: lostThrough, missedBytes});
			this.#buffer.skipThrough(lostThrough);
		}
		for (const event of events) this.receive(event);
	}

	/** An event as it arrived. */
	receive(event: NumberedEvent): void {
		if (this.story.failure !== undefined) return;
		if (event.kind === 'exited') this.#hasExited = true;
		this.story.raiseWake(event.seq);
		try {
			this.#buffer.add(event);
		} catch (error) {
			if (!(error instanceof ReorderError)) throw error;
			this.fail(error.message);
		}
	}

	/** Nothing more will be heard of it. */
	fail(message: string): void {
		this.story.fail(message);
	}
}
