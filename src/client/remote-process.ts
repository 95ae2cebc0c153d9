import {JsonParts} from '../protocol/encode.js';
import type {ParamsOnWire, Result} from '../protocol/methods.js';
import {DisconnectedError} from '../rpc/connection.js';
import {EventLog, type Observed} from './event-log.js';
import type {NumberedEvent, ProcessEvent} from './process-events.js';
import {reconcile} from './reconcile.js';
import {ReorderBuffer, ReorderError} from './reorder-buffer.js';
import type {Caller} from './session-client.js';

export type ReadResult = Result<'process/read'>;
export type ExitStatus = Omit<Extract<NumberedEvent, {kind: 'exited'}>, 'kind' | 'seq'>;

/** Nothing more can be learnt about a process: the link is gone, or its events are beyond repair. */
export class ProcessLostError extends Error {
	override readonly name = 'ProcessLostError';
}

/**
 * A process on another machine. Its events are ordered and kept for a while; it lives on when nobody holds this
 * object, unless that was said with `await using`.
 */
export class RemoteProcess implements AsyncDisposable {
	readonly processId: string;
	/** Settles with the exit the kernel reported; rejects when the process was lost before. */
	readonly exited: Promise<ExitStatus>;
	/** Settles when the process and all its output have ended; rejects when it was lost before. */
	readonly closed: Promise<void>;
	readonly #caller: Caller;
	readonly #log = new EventLog();
	readonly #buffer: ReorderBuffer;
	/** Whether the server has confirmed its start, so that it can be caught up with. */
	isRecoverable = false;
	#hasExited = false;
	#wake = 0;
	#watchers: (() => void)[] = [];
	#writes = 0;
	#failure: string | undefined;
	#settleExit!: {resolve: (exit: ExitStatus) => void; reject: (error: Error) => void};
	#settleClose!: {resolve: () => void; reject: (error: Error) => void};

	constructor(processId: string, caller: Caller) {
		this.processId = processId;
		this.#caller = caller;
		this.#buffer = new ReorderBuffer(event => this.#publish(event));
		this.exited = new Promise((resolve, reject) => {
			this.#settleExit = {resolve, reject};
		});
		this.closed = new Promise((resolve, reject) => {
			this.#settleClose = {resolve, reject};
		});
		// Whoever is interested waits for them; nobody has to.
		this.exited.catch(() => {});
		this.closed.catch(() => {});
	}

	/** The highest number that was heard of. A change means that there is something new to read, nothing else. */
	get wake(): number {
		return this.#wake;
	}

	/** Whether nothing more will happen. */
	get isOver(): boolean {
		return this.#log.isOver;
	}

	/** Settles with the number as soon as it is above `after`. */
	async woken(after: number): Promise<number> {
		while (this.#wake <= after) await new Promise<void>(resolve => this.#watchers.push(resolve));
		return this.#wake;
	}

	/** Retained output from the server. When the process is lost, a closed result that says why. */
	async read(options: Omit<ParamsOnWire<'process/read'>, 'processId'> = {}): Promise<ReadResult> {
		if (this.#failure !== undefined) return this.#lost(this.#failure);
		try {
			return await this.#caller.repeat('process/read', {...options, processId: this.processId});
		} catch (error) {
			if (error instanceof DisconnectedError) return this.#lost(error.message);
			throw error;
		}
	}

	/** Bytes for the standard input, not to be changed until they are taken; the server takes each write once. */
	async write(bytes: Uint8Array | string): Promise<Result<'process/write'>> {
		const chunk = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
		const writeId = String(++this.#writes);
		const head = `{"processId":${JSON.stringify(this.processId)},"writeId":"${writeId}","chunk":"`;
		return this.#caller.repeat('process/write', new JsonParts([head, chunk, '"}']));
	}

	async closeStdin(): Promise<void> {
		await this.#caller.call('process/closeStdin', {processId: this.processId});
	}

	async resize(size: {rows: number; cols: number}): Promise<void> {
		await this.#caller.call('process/resize', {processId: this.processId, ...size});
	}

	async signal(signal: ParamsOnWire<'process/signal'>['signal']): Promise<void> {
		await this.#caller.call('process/signal', {processId: this.processId, signal});
	}

	async terminate(mode?: ParamsOnWire<'process/terminate'>['mode']): Promise<Result<'process/terminate'>> {
		return this.#caller.call('process/terminate', {processId: this.processId, ...(mode && {mode})});
	}

	/** Everything that happens, in order: what is kept of the past first. Ends with `closed` or `failed`. */
	events(): AsyncIterableIterator<Observed> {
		return this.#log.subscribe();
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
			this.#log.publish({kind: 'gap', afterSeq: this.published, throughSeq: lostThrough, missedBytes});
			this.#buffer.skipThrough(lostThrough);
		}
		for (const event of events) this.receive(event);
	}

	/** An event as it arrived. */
	receive(event: NumberedEvent): void {
		if (this.#failure !== undefined) return;
		if (event.kind === 'exited') this.#hasExited = true;
		this.#raiseWake(event.seq);
		try {
			this.#buffer.add(event);
		} catch (error) {
			if (!(error instanceof ReorderError)) throw error;
			this.fail(error.message);
		}
	}

	/** Nothing more will be heard of it. */
	fail(message: string): void {
		if (this.isOver) return;
		this.#failure = message;
		this.#log.publish({kind: 'failed', message});
		this.#settleExit.reject(new ProcessLostError(message));
		this.#settleClose.reject(new ProcessLostError(message));
		this.#raiseWake(this.#wake + 1);
	}

	#publish(event: NumberedEvent): void {
		this.#log.publish(event satisfies ProcessEvent);
		if (event.kind === 'exited') {
			const {exitCode, sandboxDenied, reason} = event;
			this.#settleExit.resolve({exitCode, sandboxDenied, reason});
		} else if (event.kind === 'closed') {
			this.#settleExit.reject(new ProcessLostError('the process closed without an exit'));
			this.#settleClose.resolve();
		}
	}

	#raiseWake(seq: number): void {
		if (seq <= this.#wake) return;
		this.#wake = seq;
		for (const tell of this.#watchers.splice(0)) tell();
	}

	#lost(failure: string): ReadResult {
		return {
			chunks: [],
			nextSeq: this.#wake + 1,
			exited: true,
			exitCode: null,
			closed: true,
			failure,
			sandboxDenied: false,
		};
	}
}
