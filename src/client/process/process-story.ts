import {EventLog, type StreamEvent} from './event-log.js';
import type {Brake} from './held-events.js';
import type {ProcessEvent} from './process-handle.js';
import {type ExitStatus, ProcessLostError, type ReadResult} from './process-handle.js';

/** What is known of a process so far, for all who want to know, now or later. */
export class ProcessStory {
	readonly exited: Promise<ExitStatus>;
	readonly closed: Promise<void>;
	readonly #log: EventLog;
	#wake = 0;
	#watchers: (() => void)[] = [];
	#failure: string | undefined;
	#settleExit!: {resolve: (exit: ExitStatus) => void; reject: (error: Error) => void};
	#settleClose!: {resolve: () => void; reject: (error: Error) => void};

	constructor(brake?: Brake) {
		this.#log = new EventLog(brake);
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

	get wake(): number {
		return this.#wake;
	}

	get isOver(): boolean {
		return this.#log.isOver;
	}

	/** Why nothing more will be heard; undefined as long as it may. */
	get failure(): string | undefined {
		return this.#failure;
	}

	async woken(after: number): Promise<number> {
		while (this.#wake <= after) await new Promise<void>(resolve => this.#watchers.push(resolve));
		return this.#wake;
	}

	events(): AsyncIterableIterator<StreamEvent> {
		return this.#log.subscribe();
	}

	/** Something of this number exists, even if it is not its turn yet. */
	raiseWake(seq: number): void {
		if (seq <= this.#wake) return;
		this.#wake = seq;
		for (const tell of this.#watchers.splice(0)) tell();
	}

	/** The next event, in its turn. */
	publish(event: Exclude<ProcessEvent, {kind: 'failed'}>): void {
		this.#log.publish(event);
		if (event.kind === 'exited') {
			const {exitCode, sandboxDenied, reason} = event;
			this.#settleExit.resolve({exitCode, sandboxDenied, reason});
		} else if (event.kind === 'closed') {
			this.#settleExit.reject(new ProcessLostError('the process closed without an exit'));
			this.#settleClose.resolve();
		}
	}

	/** Nothing more will be heard of it. */
	fail(message: string): void {
		if (this.isOver) return;
		this.#failure = message;
		this.#log.publish({kind: 'failed', message});
		this.#settleExit.reject(new ProcessLostError(message));
		this.#settleClose.reject(new ProcessLostError(message));
		this.raiseWake(this.#wake + 1);
	}

	/** What a read of a lost process answers. */
	lostResult(failure: string): ReadResult {
		const rest = {exited: true, exitCode: null, closed: true, sandboxDenied: false};
		return {chunks: [], nextSeq: this.#wake + 1, failure, ...rest};
	}
}
