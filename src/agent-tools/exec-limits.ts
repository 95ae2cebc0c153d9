/** Waiting for a command, in milliseconds. */
export const SMALLEST_YIELD_MS = 250;
/** Programs take longer to come up there. */
export const SMALLEST_YIELD_WINDOWS_MS = 10_000;
export const MAX_YIELD_MS = 30_000;
export const DEFAULT_EXEC_YIELD_MS = 10_000;
export const DEFAULT_WRITE_YIELD_MS = 250;
/** A poll without input would otherwise be a way of asking all the time. */
export const SMALLEST_POLL_MS = 5_000;
export const MAX_POLL_MS = 300_000;
/** What was typed needs a moment until it is echoed and answered. */
export const AFTER_WRITE_MS = 100;
/** Strict-compat only: the wait for an early exit that comes before the clock starts. */
export const EARLY_EXIT_MS = 150;
/** How long output may stay open after an exit before the command counts as finished. */
export const CLOSE_GRACE_MS = 50;
/** Output that keeps coming after an exit starts the grace anew, for no longer than this in all. */
export const MAX_CLOSE_GRACE_MS = 1_000;
/** The same for the end event of a command nobody waits for. */
export const TRAILING_OUTPUT_MS = 100;
/** How long an executor may take to say that it is there. */
export const STATUS_WAIT_MS = 1_000;
/** How long `close` waits for a process that was told to end. */
export const CLOSE_WAIT_MS = 5_000;

export const MAX_DELTA_BYTES = 8_192;
export const MAX_DELTAS = 10_000;

export const MAX_SESSIONS = 64;
/** The most recently used ones, which are never evicted. */
export const PROTECTED_SESSIONS = 8;
export const SMALLEST_SESSION_ID = 1_000;
export const MAX_SESSION_ID = 99_999;

export const BYTES_PER_TOKEN = 4;
export const DEFAULT_OUTPUT_TOKENS = 10_000;
/** The whole answer may be this much larger than the policy for its output, in tenths. */
export const ANSWER_TENTHS = 12;
export const CHUNK_ID_BYTES = 3;

/** How long a call waits for a command it has started. */
export function startWindow(askedMs: number, isWindows: boolean): number {
	return clamp(askedMs, isWindows ? SMALLEST_YIELD_WINDOWS_MS : SMALLEST_YIELD_MS, MAX_YIELD_MS);
}

/** How long a call waits after something was typed. */
export function writeWindow(askedMs: number): number {
	return clamp(askedMs, SMALLEST_YIELD_MS, MAX_YIELD_MS);
}

/** How long a call waits that only looks. */
export function pollWindow(askedMs: number, maxPollMs: number = MAX_POLL_MS): number {
	return clamp(askedMs, SMALLEST_POLL_MS, Math.max(maxPollMs, SMALLEST_POLL_MS));
}

function clamp(value: number, least: number, most: number): number {
	return Math.min(Math.max(value, least), most);
}
