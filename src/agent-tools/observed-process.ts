import type {ExitStatus, Lagged, ProcessHandle, StreamEvent} from '../client/process/process-handle.js';
import {errorMessage} from '../shared/errors.js';
import {HeadTailBuffer} from '../shared/head-tail-buffer.js';
import {MAX_CLOSE_GRACE_MS} from './exec-limits.js';

/** What is known of a process. An exit is not the end of its output: a child of it may hold that open. */
export type Life =
	| {readonly kind: 'running'}
	| {readonly kind: 'exited'; readonly exitCode: number}
	| {readonly kind: 'closed'; readonly exitCode: number}
	| {readonly kind: 'failed'; readonly message: string};

export interface ObservedOptions {
	/** How long output is waited for after an exit. */
	readonly closeGraceMs: number;
	/** What an exit counts as. */
	readonly exitCodeOf: (exit: ExitStatus) => number;
	readonly onOutput: (bytes: Uint8Array) => void;
}

/** Unknown, for a process that is gone without a word. */
const UNKNOWN_EXIT = -1;

/** Follows a process: what it said since the last look, what it said in all, and whether it is over. */
export class ObservedProcess {
	readonly handle: ProcessHandle;
	/** Settles when the process is finished: its output is closed, or has been quiet since the exit, or it is lost. */
	readonly finished: Promise<void>;
	readonly transcript = new HeadTailBuffer();
	readonly #unread = new HeadTailBuffer();
	readonly #options: ObservedOptions;
	readonly #events: AsyncIterableIterator<StreamEvent>;
	#life: Life = {kind: 'running'};
	#isFinished = false;
	#tellFinished!: () => void;
	#grace: ReturnType<typeof setTimeout> | undefined;
	#latestFinish = 0;
	#lastSeq = 0;

	constructor(handle: ProcessHandle, options: ObservedOptions) {
		this.handle = handle;
		this.#options = options;
		this.finished = new Promise(resolve => {
			this.#tellFinished = resolve;
		});
		this.#events = handle.events();
		void this.#follow();
	}

	get life(): Life {
		return this.#life;
	}

	get isFinished(): boolean {
		return this.#isFinished;
	}

	/** What came since the last time. */
	take(): HeadTailBuffer {
		return this.#unread.take();
	}

	/** The executor says that the process is gone; if its exit does not come soon, it is an unknown one. */
	presumeGone(): void {
		if (this.#life.kind === 'running') this.#exited(UNKNOWN_EXIT);
	}

	/** Nobody wants to hear more of it. */
	release(): void {
		void this.#events.return?.();
	}

	async #follow(): Promise<void> {
		try {
			for await (const event of this.#events) {
				switch (event.kind) {
					case 'output':
						this.#output(event.seq, event.bytes);
						break;
					case 'gap':
						this.#lastSeq = Math.max(this.#lastSeq, event.throughSeq);
						this.#gap(event.missedBytes);
						break;
					case 'lagged':
						await this.#catchUp(event);
						break;
					case 'exited':
						this.#exited(this.#options.exitCodeOf(event));
						break;
					case 'closed':
						this.#closed(this.#options.exitCodeOf(await this.handle.exited));
						break;
					case 'failed':
						this.#failed(event.message);
						break;
				}
			}
			if (!this.#isFinished) this.#failed('the process was lost');
		} catch (error) {
			this.#failed(errorMessage(error));
		}
	}

	/** What was missed by being late is read again; what is not kept any more is counted. */
	async #catchUp({missed}: Lagged): Promise<void> {
		const page = await this.handle.read({afterSeq: this.#lastSeq});
		if (page.failure !== null) return;
		const first = page.chunks[0]?.seq ?? this.#lastSeq + 1 + missed;
		const hole = first - this.#lastSeq - 1 - (page.exited ? 1 : 0);
		if (page.missedBytes === undefined ? hole > 0 : page.missedBytes > 0) this.#gap(page.missedBytes);
		for (const {seq, chunk} of page.chunks) this.#output(seq, chunk);
		if (page.exited) this.#exited(this.#options.exitCodeOf(await this.handle.exited));
	}

	#output(seq: number, bytes: Uint8Array): void {
		if (seq <= this.#lastSeq) return;
		this.#lastSeq = seq;
		this.#unread.push(bytes);
		this.transcript.push(bytes);
		this.#options.onOutput(bytes);
		if (this.#life.kind === 'exited') this.#startGrace();
	}

	/** One stands for a number nobody knows: the place has to be seen. */
	#gap(missedBytes: number | undefined): void {
		this.#unread.skip(missedBytes ?? 1);
		this.transcript.skip(missedBytes ?? 1);
	}

	#exited(exitCode: number): void {
		const isNews = this.#life.kind === 'running' || (this.#life.kind === 'exited' && exitCode !== UNKNOWN_EXIT);
		if (!isNews) return;
		this.#life = {kind: 'exited', exitCode};
		this.#latestFinish ||= performance.now() + MAX_CLOSE_GRACE_MS;
		this.#startGrace();
	}

	#closed(exitCode: number): void {
		this.#life = {kind: 'closed', exitCode};
		this.#finish();
	}

	#failed(message: string): void {
		// What has exited did so, whatever became of its output.
		if (this.#life.kind === 'running') this.#life = {kind: 'failed', message};
		this.#finish();
	}

	/** Output that arrives after the exit is most often on its way already, and more of it behind. */
	#startGrace(): void {
		if (this.#isFinished) return;
		const left = this.#latestFinish - performance.now();
		if (this.#grace !== undefined && left <= 0) return;
		clearTimeout(this.#grace);
		// Two halves: when this program was kept from running, the first is over before output that has long been there
		// was read, and the event loop reads it before the second begins.
		const half = Math.min(this.#options.closeGraceMs, Math.max(0, left)) / 2;
		this.#grace = setTimeout(() => {
			this.#grace = setTimeout(() => this.#finish(), half);
		}, half);
	}

	#finish(): void {
		clearTimeout(this.#grace);
		this.#isFinished = true;
		this.#tellFinished();
	}
}
