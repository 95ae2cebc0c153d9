import {onTestFinished, vi} from 'vitest';

/**
 * Stops the clock of this process until the end of the test: timers come, and `performance.now()` goes on, only by
 * `vi.advanceTimersByTime`. Input, output and children go on as ever, so that whatever has to happen before a limit can
 * be waited for, however long it takes.
 */
export function stopClock(): void {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
	onTestFinished(() => void vi.useRealTimers());
}

/** No machine that does its work at all takes longer than this for what takes it milliseconds. */
const MAX_LIMIT_MS = 60_000;

/**
 * For limits that run by the clock of another process: tries again with a longer one as long as `attempt` gives nothing,
 * because what it waits for did not happen before the limit.
 */
export async function withTimeEnough<T>(attempt: (limitMs: number) => Promise<T | undefined>): Promise<T> {
	for (let limitMs = 250; limitMs <= MAX_LIMIT_MS; limitMs *= 4) {
		const result = await attempt(limitMs);
		if (result !== undefined) return result;
	}
	throw new Error(`it did not happen within ${MAX_LIMIT_MS} ms either`);
}
