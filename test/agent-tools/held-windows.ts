import {AsyncLocalStorage} from 'node:async_hooks';
import {EARLY_EXIT_WAIT_MS, STATUS_WAIT_MS} from '../../src/agent-tools/exec-limits.js';
import type {waitAtMost} from '../../src/shared/async/timeout.js';

/** Ends a hold whose event never comes; the answer then shows the difference. */
const MAX_HOLD_MS = 30_000;

/**
 * The windows of one call. Each lasts as long as the code under test asks, and then until the event has been seen that
 * the recorded window contained: a slow machine gets the same answer, later.
 */
export class HeldWindows {
	/** Longest wait the call has requested. */
	longestMs = 0;
	/** Settles with the event. */
	readonly over: Promise<void>;
	#tellOver!: () => void;

	constructor() {
		this.over = new Promise(resolve => {
			this.#tellOver = resolve;
		});
	}

	/** Runs a call whose windows are held. */
	async run<T>(call: () => Promise<T>): Promise<T> {
		try {
			return await current.run(this, call);
		} finally {
			this.release();
		}
	}

	/** The event was seen: the windows end with their time. */
	release(): void {
		this.#tellOver();
	}
}

const current = new AsyncLocalStorage<HeldWindows>();

/** The wait of unified exec, held within calls that say so. */
export function holding(wait: typeof waitAtMost): typeof waitAtMost {
	return async (promise, ms, signal) => {
		await wait(promise, ms, signal);
		const windows = current.getStore();
		// The wait for an early exit is no window: commands that outlast it are treated differently.
		if (!windows || ms === EARLY_EXIT_WAIT_MS) return;
		// The status of the executor depends on its answer, not on how soon that comes.
		if (ms === STATUS_WAIT_MS) return wait(promise, MAX_HOLD_MS);
		windows.longestMs = Math.max(windows.longestMs, ms);
		return wait(Promise.race([promise, windows.over]), MAX_HOLD_MS);
	};
}
