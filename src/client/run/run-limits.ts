import {Deferred} from '../../shared/async/deferred.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {ProcessHandle} from '../process/process-handle.js';

/** Grace period between SIGTERM and SIGKILL for an interrupted process. */
const GRACE_MS = 1000;
/** A killed process is waited for this long after the grace period, before it is reported without an exit. */
const END_MS = 5000;
/** Without an answer for this long the link is taken for silent, and its end is not waited for. */
const ANSWER_MS: Readonly<Record<Interrupted['reason'], number>> = {aborted: 500, timeout: 1000};

/** Cause of an end that came from outside, so that the process has yet to end. */
export interface Interrupted {
	readonly reason: 'timeout' | 'aborted';
	/** Reason of the signal. */
	readonly error?: Error;
}

/** Limits of a command from outside: its timeout and the signal of the caller. */
export class RunLimits {
	readonly #happened = new Deferred<Interrupted>();
	readonly #deadline: number;
	readonly #stop = new AbortController();
	readonly #stopListening: () => void;
	readonly #timer: ReturnType<typeof setTimeout> | undefined;
	#current: Interrupted | undefined;

	constructor({
		timeout = Infinity,
		signal,
	}: {readonly timeout?: number | undefined; readonly signal?: AbortSignal | undefined}) {
		this.#deadline = performance.now() + timeout;
		this.#stopListening = onAbort(signal, reason =>
			this.#interrupt({reason: 'aborted', ...(reason instanceof Error && {error: reason})}),
		);
		if (timeout === Infinity) return;
		this.#timer = setTimeout(() => this.#interrupt({reason: 'timeout'}), Math.min(timeout, MAX_TIMER_MS));
	}

	/** Stays pending without an interruption. */
	get happened(): Promise<Interrupted> {
		return this.#happened.promise;
	}

	/** Also if the timer is late: a server that enforces the same limit may be faster. */
	get current(): Interrupted | undefined {
		if (performance.now() >= this.#deadline) this.#interrupt({reason: 'timeout'});
		return this.#current;
	}

	/** Aborted by `dispose`. */
	get disposed(): AbortSignal {
		return this.#stop.signal;
	}

	dispose(): void {
		clearTimeout(this.#timer);
		this.#stopListening();
		this.#stop.abort();
	}

	#interrupt(interrupted: Interrupted): void {
		this.#current ??= interrupted;
		this.#happened.resolve(this.#current);
	}
}

/**
 * Ends an interrupted process and everything below it. Settles when that is done, or soon if the link is silent or cut: the
 * request is delivered then when the session is resumed. `over` settles with the end of the process and of its output.
 */
export async function endInterrupted(
	process: ProcessHandle,
	over: Promise<unknown>,
	{reason}: Interrupted,
): Promise<void> {
	const isOver = settled(over);
	const asked = process.terminate({graceful: {timeoutMs: GRACE_MS}}).then(
		() => true,
		() => false,
	);
	const isAnswered = await withTimeout(Promise.race([isOver, asked]), ANSWER_MS[reason], () => false);
	if (!isAnswered) return;
	await withTimeout(isOver, GRACE_MS + END_MS, () => {});
	// Descendants that ignore the request and hold no stream must not run on after the caller was told of the end.
	await withTimeout(settled(process.terminate('force')), END_MS, () => {});
}

function settled(promise: Promise<unknown>): Promise<true> {
	return promise.then(
		() => true,
		() => true,
	);
}
