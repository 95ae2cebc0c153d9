import type {ExitStatus, Lagged, ProcessHandle, StreamEvent} from '../client/process/process-handle.js';
import {Deferred} from '../shared/async/deferred.js';
import {errorMessage} from '../shared/errors.js';
import {HeadTailBuffer} from '../shared/head-tail-buffer.js';
import {MAX_CLOSE_GRACE_MS} from './exec-limits.js';

/** State of a process. An exit is not the end of its output: a child may keep the pipe open. */
export type ObservedState =
	| {readonly kind: 'running'}
	| {readonly kind: 'exited'; readonly exitCode: number}
	| {readonly kind: 'closed'; readonly exitCode: number}
	| {readonly kind: 'failed'; readonly message: string};

export interface ObservedOptions {
	/** Grace period for output after an exit. */
	readonly closeGraceMs: number;
	/** Exit code to report for an exit status. */
	readonly toExitCode: (exit: ExitStatus) => number;
	readonly onOutput: (bytes: Uint8Array) => void;
}

/** Exit code of a process whose exit was not reported. */
const UNKNOWN_EXIT = -1;

/** Collects the events of a process: output since the last call, output in total, and the state. */
export class ObservedProcess {
	readonly handle: ProcessHandle;
	/** Resolves when the process is finished: output closed, grace period after the exit over, or process lost. */
	readonly finished: Promise<void>;
	readonly transcript = new HeadTailBuffer();
	readonly #unread = new HeadTailBuffer();
	readonly #options: ObservedOptions;
	readonly #events: AsyncIterableIterator<StreamEvent>;
	#state: ObservedState = {kind: 'running'};
	#isFinished = false;
	readonly #finished = new Deferred();
	#graceTimer: ReturnType<typeof setTimeout> | undefined;
	#graceDeadline = 0;
	#lastSeq = 0;

	constructor(handle: ProcessHandle, options: ObservedOptions) {
		this.handle = handle;
		this.#options = options;
		this.finished = this.#finished.promise;
		this.#events = handle.events();
		void this.#readEvents();
	}

	get state(): ObservedState {
		return this.#state;
	}

	get isFinished(): boolean {
		return this.#isFinished;
	}

	/** Removes and returns the output since the last call. */
	takeUnread(): HeadTailBuffer {
		return this.#unread.take();
	}

	/** Called when the executor does not know the process any more; the exit code is unknown unless it arrives soon. */
	assumeExited(): void {
		if (this.#state.kind === 'running') this.#onExited(UNKNOWN_EXIT);
	}

	/** Ends the subscription to events. */
	stopObserving(): void {
		void this.#events.return?.();
	}

	async #readEvents(): Promise<void> {
		try {
			for await (const event of this.#events) {
				switch (event.kind) {
					case 'output':
						this.#onOutput(event.seq, event.bytes);
						break;
					case 'gap':
						this.#lastSeq = Math.max(this.#lastSeq, event.throughSeq);
						this.#onGap(event.missedBytes);
						break;
					case 'lagged':
						await this.#catchUp(event);
						break;
					case 'exited':
						this.#onExited(this.#options.toExitCode(event));
						break;
					case 'closed':
						this.#onClosed(this.#options.toExitCode(await this.handle.exited));
						break;
					case 'failed':
						this.#onFailed(event.message);
						break;
				}
			}
			if (!this.#isFinished) this.#onFailed('the process was lost');
		} catch (error) {
			this.#onFailed(errorMessage(error));
		}
	}

	/** Reads the output that a lagging subscription missed; what is no longer retained is recorded as a gap. */
	async #catchUp({missed}: Lagged): Promise<void> {
		const page = await this.handle.read({afterSeq: this.#lastSeq});
		if (page.failure !== null) return;
		const first = page.chunks[0]?.seq ?? this.#lastSeq + 1 + missed;
		const hole = first - this.#lastSeq - 1 - (page.exited ? 1 : 0);
		if (page.missedBytes === undefined ? hole > 0 : page.missedBytes > 0) this.#onGap(page.missedBytes);
		for (const {seq, chunk} of page.chunks) this.#onOutput(seq, chunk);
		if (page.exited) this.#onExited(this.#options.toExitCode(await this.handle.exited));
	}

	#onOutput(seq: number, bytes: Uint8Array): void {
		if (seq <= this.#lastSeq) return;
		this.#lastSeq = seq;
		this.#unread.push(bytes);
		this.transcript.push(bytes);
		this.#options.onOutput(bytes);
		if (this.#state.kind === 'exited') this.#startGrace();
	}

	/** An unknown number of bytes counts as 1, so that the marker shows the gap. */
	#onGap(missedBytes: number | undefined): void {
		this.#unread.skip(missedBytes ?? 1);
		this.transcript.skip(missedBytes ?? 1);
	}

	#onExited(exitCode: number): void {
		const isNewState = this.#state.kind === 'running' || (this.#state.kind === 'exited' && exitCode !== UNKNOWN_EXIT);
		if (!isNewState) return;
		this.#state = {kind: 'exited', exitCode};
		this.#graceDeadline ||= performance.now() + MAX_CLOSE_GRACE_MS;
		this.#startGrace();
	}

	#onClosed(exitCode: number): void {
		this.#state = {kind: 'closed', exitCode};
		this.#finish();
	}

	#onFailed(message: string): void {
		// After an exit the exit code stands, even if the output is lost.
		if (this.#state.kind === 'running') this.#state = {kind: 'failed', message};
		this.#finish();
	}

	/** (Re)starts the grace period: output after an exit is usually in transit, followed by more. */
	#startGrace(): void {
		if (this.#isFinished) return;
		const left = this.#graceDeadline - performance.now();
		if (this.#graceTimer !== undefined && left <= 0) return;
		clearTimeout(this.#graceTimer);
		// Two timers: after a stall of this process the first one fires before pending output was read, and the event
		// loop reads it before the second one starts.
		const half = Math.min(this.#options.closeGraceMs, Math.max(0, left)) / 2;
		this.#graceTimer = setTimeout(() => {
			this.#graceTimer = setTimeout(() => this.#finish(), half);
		}, half);
	}

	#finish(): void {
		clearTimeout(this.#graceTimer);
		this.#isFinished = true;
		this.#finished.resolve();
	}
}
