import {onTestFinished, vi} from 'vitest';

/**
 * Fakes `setTimeout` and `performance.now()` until the end of the test; `vi.advanceTimersByTime` moves them. I/O and
 * children stay real, so that a test can wait for an event that has to come before a time limit, however long it takes.
 * `performance.now()` goes on from where it is: monotonic time never runs backwards, and rate limits rely on it.
 */
export function stopClock(): void {
	const now = Math.ceil(performance.now());
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
	vi.advanceTimersByTime(now);
	onTestFinished(() => void vi.useRealTimers());
}

/** Longest limit that is tried for an event that normally takes milliseconds. */
const MAX_LIMIT_MS = 60_000;

/**
 * Retries with longer time limits, for limits measured by another process: `attempt` returns undefined when the expected
 * event did not happen within the limit.
 */
export async function withTimeEnough<T>(attempt: (limitMs: number) => Promise<T | undefined>): Promise<T> {
	for (let limitMs = 250; limitMs <= MAX_LIMIT_MS; limitMs *= 4) {
		const result = await attempt(limitMs);
		if (result !== undefined) return result;
	}
	throw new Error(`it did not happen within ${MAX_LIMIT_MS} ms either`);
}
