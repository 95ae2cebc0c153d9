import {Deferred} from '../../shared/async/deferred.js';
import {holdProgram, holdProgramFor, releaseProgram} from '../../shared/async/keep-alive.js';
import type {WaitCondition, WaitOptions, WaitResultOf} from '../run/wait-for.js';
import type {PausableSource} from './event-stream.js';
import {ProcessEventStream} from './event-stream.js';
import {
	type ExitStatus,
	type Output,
	type OutputOptions,
	type ProcessEvent,
	type ProcessHandle,
	ProcessLostError,
	type ProcessSnapshot,
	type ReadOptions,
	type ReadResult,
	type Signal,
	type StreamEvent,
	type TerminateMode,
	type TerminateResult,
	type WireSignal,
	type WriteResult,
} from './process-handle.js';
import {readOutputStream} from './read-output-stream.js';
import type {
	ListedShare,
	LogEntry,
	LoggedPage,
	LoggedPageOptions,
	LogOptions,
	ProcessChange,
	ProcessRole,
	ProcessShare,
	RecordingEntry,
	Screen,
	ScreenOptions,
	ShareOptions,
	TakeOverOptions,
} from './shared-process.js';
import {readLines, readTextStream, type TextOptions} from './text-streams.js';

/** State and events of a process, the same for every kind of handle; subclasses publish what they learn. */
export abstract class BaseProcess implements ProcessHandle {
	abstract readonly processId: string;
	abstract readonly name: string | undefined;
	abstract readonly role: ProcessRole;
	abstract readonly driver: string | undefined;
	readonly #stream: ProcessEventStream;
	readonly #exit = new Deferred<ExitStatus>();
	readonly #close = new Deferred();
	readonly #changeListeners = new Set<(change: ProcessChange) => void>();
	#lastSeq = 0;
	#seqWaiters: (() => void)[] = [];
	#failure: string | undefined;
	/** Set once they were read: somebody waits for them from then on. */
	#awaitedExit: Promise<ExitStatus> | undefined;
	#awaitedClose: Promise<void> | undefined;
	/** Whether the program is kept alive for the change listeners. */
	#isHeldForChanges = false;
	#isKilled = false;

	/** With a source to pause, the first subscriber misses nothing. */
	constructor(source?: PausableSource) {
		this.#stream = new ProcessEventStream(source);
		// Handled here: a rejection without a listener would end the program, and callers need not wait for these.
		this.#exit.promise.catch(() => {});
		const handleOver = (): void => this.#holdForChanges();
		this.#close.promise.then(handleOver, handleOver);
	}

	get exited(): Promise<ExitStatus> {
		this.#awaitedExit ??= holdProgramFor(this.#exit.promise);
		return this.#awaitedExit;
	}

	get closed(): Promise<void> {
		this.#awaitedClose ??= holdProgramFor(this.#close.promise);
		return this.#awaitedClose;
	}

	get lastSeq(): number {
		return this.#lastSeq;
	}

	get isOver(): boolean {
		return this.#stream.isClosed;
	}

	async waitForSeq(after: number): Promise<number> {
		while (this.#lastSeq <= after) {
			await holdProgramFor(new Promise<void>(resolve => this.#seqWaiters.push(resolve)));
		}
		return this.#lastSeq;
	}

	events(): AsyncIterableIterator<StreamEvent> {
		return this.#stream.subscribe();
	}

	output({afterSeq}: OutputOptions = {}): AsyncIterableIterator<Output> {
		return readOutputStream(this, afterSeq);
	}

	text(options?: TextOptions): AsyncIterableIterator<string> {
		return readTextStream(this.output(), options);
	}

	lines(options?: TextOptions): AsyncIterableIterator<string> {
		return readLines(this.output(), options);
	}

	async signal(signal: Signal): Promise<void> {
		await this.sendSignal(toWireSignal(signal));
	}

	protected abstract sendSignal(signal: WireSignal): Promise<void>;
	abstract read(options?: ReadOptions): Promise<ReadResult>;
	abstract snapshot(): Promise<ProcessSnapshot>;
	abstract write(bytes: Uint8Array | string): Promise<WriteResult>;
	abstract closeStdin(): Promise<void>;
	abstract resize(size: {rows: number; cols: number}): Promise<void>;
	abstract terminate(mode?: TerminateMode): Promise<TerminateResult>;
	abstract takeOver(options?: TakeOverOptions): Promise<void>;
	abstract giveBack(): Promise<void>;
	abstract detach(): Promise<void>;
	abstract screen(options?: ScreenOptions): Promise<Screen>;
	abstract logs(options?: LogOptions): AsyncIterableIterator<LogEntry>;
	abstract logPage(options?: LoggedPageOptions): Promise<LoggedPage>;
	abstract recording(options?: {readonly signal?: AbortSignal | undefined}): AsyncIterableIterator<RecordingEntry>;
	abstract share(options?: ShareOptions): Promise<ProcessShare>;
	abstract shares(): Promise<ListedShare[]>;
	abstract unshare(shareId: string): Promise<boolean>;
	abstract remove(): Promise<void>;
	abstract [Symbol.asyncDispose](): Promise<void>;

	/** Looks at the output as this client gets it. */
	async waitFor<K extends keyof WaitCondition>(
		condition: Pick<WaitCondition, K>,
		options?: WaitOptions,
	): Promise<WaitResultOf<K>> {
		const {waitFor} = await import('../run/wait-for.js');
		return waitFor(this, condition, options);
	}

	onChange(listener: (change: ProcessChange) => void): () => void {
		this.#changeListeners.add(listener);
		this.#holdForChanges();
		return () => {
			this.#changeListeners.delete(listener);
			this.#holdForChanges();
		};
	}

	/** Reports `running` once: after an answered kill the process counts as ended, although its exit may not be known yet. */
	protected reportTermination(mode: TerminateMode, result: TerminateResult): TerminateResult {
		const running = result.running && !this.#isKilled;
		if (mode === undefined || mode === null || mode === 'force') this.#isKilled = true;
		return {...result, running};
	}

	/** Tells listeners of a change. */
	protected announce(change: ProcessChange): void {
		for (const listener of this.#changeListeners) listener(change);
	}

	/** Calls back when no event can follow; the program is not kept alive for it. */
	protected onOver(listener: () => void): void {
		this.#close.promise.then(listener, listener);
	}

	/** Keeps the program alive while somebody listens for changes of a process that can still have some. */
	#holdForChanges(): void {
		const isNeeded = this.#changeListeners.size > 0 && !this.isOver;
		if (isNeeded === this.#isHeldForChanges) return;
		this.#isHeldForChanges = isNeeded;
		if (isNeeded) holdProgram();
		else releaseProgram();
	}

	/** Reason the process is lost; undefined while it is not. */
	protected get failure(): string | undefined {
		return this.#failure;
	}

	/** Records that an event of this number exists, even if it cannot be published in order yet. */
	protected raiseLastSeq(seq: number): void {
		if (seq <= this.#lastSeq) return;
		this.#lastSeq = seq;
		for (const resolve of this.#seqWaiters.splice(0)) resolve();
	}

	/** Publishes the next event, in sequence order. */
	protected publish(event: Exclude<ProcessEvent, {kind: 'failed'}>): void {
		this.#stream.publish(event);
		this.settleEnd(event);
	}

	/** Settles `exited` and `closed`; events that a reader has yet to take do not delay them. */
	protected settleEnd(event: Exclude<ProcessEvent, {kind: 'failed'}>): void {
		if (event.kind === 'exited') {
			const {exitCode, sandboxDenied, reason} = event;
			this.#exit.resolve({exitCode, sandboxDenied, reason});
		} else if (event.kind === 'closed') {
			this.#exit.reject(new ProcessLostError('the process closed without an exit'));
			this.#close.resolve();
		}
	}

	/** Ends the events of a process that is lost. */
	protected publishFailure(message: string): void {
		if (this.isOver) return;
		this.#failure = message;
		this.#stream.publish({kind: 'failed', message});
		this.#exit.reject(new ProcessLostError(message));
		this.#close.reject(new ProcessLostError(message));
		this.raiseLastSeq(this.#lastSeq + 1);
	}

	/** Ends the events without a last one: the process runs on, but this client is not told any more. */
	protected abandon(message: string): void {
		if (this.isOver) return;
		this.#failure = message;
		this.#stream.end();
		this.#exit.reject(new ProcessLostError(message));
		this.#close.reject(new ProcessLostError(message));
		this.raiseLastSeq(this.#lastSeq + 1);
	}

	/** The answer to a read of a lost process. */
	protected lostResult(failure: string): ReadResult {
		const rest = {exited: true, exitCode: null, closed: true, sandboxDenied: false};
		return {chunks: [], nextSeq: this.#lastSeq + 1, failure, ...rest};
	}
}

/** Throws a `TypeError` for a value that cannot be a signal. */
function toWireSignal(signal: Signal): WireSignal {
	const name = typeof signal === 'string' ? signal : signal?.name;
	if (typeof name !== 'string')
		throw new TypeError("a signal must be 'interrupt', a name such as 'SIGTERM', or {name}");
	// Every server knows this one, under the name of the key.
	return signal === 'interrupt' || name === 'SIGINT' ? 'interrupt' : {name};
}
