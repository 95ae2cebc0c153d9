import {withTimeout} from '../../shared/async/timeout.js';
import type {JobExecutor} from '../item-worker.js';

const FIRST_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 5000;
/** Time an executor has for an answer when it is asked whether it is there. */
const PROBE_MS = 5000;

type State =
	| {readonly kind: 'ready'}
	/** It refused a start and is left alone for a while. */
	| {readonly kind: 'backing-off'}
	/** A connection was lost; it is asked again and again until it answers. */
	| {readonly kind: 'lost'; readonly answered: Promise<void>};

/** An executor of a running job, with what it is busy with. */
export class PooledExecutor {
	readonly executor: JobExecutor;
	/** Attempts whose results are not decided. */
	running = 0;
	/** Attempts that have reported and are about to end. */
	lingering = 0;
	#state: State = {kind: 'ready'};
	#backOffMs = FIRST_BACK_OFF_MS;
	#timer: NodeJS.Timeout | undefined;
	readonly #wake: () => void;
	readonly #closed: AbortSignal;

	constructor(executor: JobExecutor, wake: () => void, closed: AbortSignal) {
		this.executor = executor;
		this.#wake = wake;
		this.#closed = closed;
	}

	get isReady(): boolean {
		return this.#state.kind === 'ready';
	}

	/** Whether it can take another item. Attempts about to end do not count until there are as many as slots. */
	get isFree(): boolean {
		const {slots} = this.executor;
		return this.isReady && this.running < slots && this.lingering <= slots;
	}

	/** Items it can take now. */
	get free(): number {
		return this.isFree ? this.executor.slots - this.running : 0;
	}

	/** It refused a start: no more for a while, longer each time. */
	backOff(): void {
		if (this.#state.kind !== 'ready') return;
		this.#state = {kind: 'backing-off'};
		const waitMs = this.#nextBackOff();
		this.#timer = setTimeout(() => this.#becomeReady(), waitMs);
	}

	/** A start worked. */
	succeed(): void {
		this.#backOffMs = FIRST_BACK_OFF_MS;
	}

	/** The connection to it was lost. Settles when it answers again, or rejects when the job ends first. */
	lose(): Promise<void> {
		if (this.#state.kind === 'lost') return this.#state.answered;
		clearTimeout(this.#timer);
		const answered = this.#waitForAnswer();
		this.#state = {kind: 'lost', answered};
		answered.then(
			() => this.#becomeReady(),
			() => {},
		);
		return answered;
	}

	dispose(): void {
		clearTimeout(this.#timer);
	}

	#becomeReady(): void {
		this.#state = {kind: 'ready'};
		this.#wake();
	}

	#nextBackOff(): number {
		const waitMs = this.#backOffMs;
		this.#backOffMs = Math.min(2 * waitMs, MAX_BACK_OFF_MS);
		return waitMs;
	}

	/** A client that reconnects tells nobody that it could again: it has to be tried. */
	async #waitForAnswer(): Promise<void> {
		for (;;) {
			this.#closed.throwIfAborted();
			try {
				await withTimeout(this.executor.environment.server(), PROBE_MS, () => {
					throw new Error('no answer');
				});
				return;
			} catch {
				await delay(this.#nextBackOff(), this.#closed);
			}
		}
	}
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise(resolve => {
		const timer = setTimeout(end, ms);
		signal.addEventListener('abort', end, {once: true});
		function end(): void {
			clearTimeout(timer);
			signal.removeEventListener('abort', end);
			resolve();
		}
	});
}
