/** Bounds of the time a call waits for a command. */
export const MIN_YIELD_MS = 250;
/** Programs take longer to start on Windows. */
export const MIN_YIELD_WINDOWS_MS = 10_000;
export const MAX_YIELD_MS = 30_000;
export const DEFAULT_EXEC_YIELD_MS = 10_000;
export const DEFAULT_WRITE_YIELD_MS = 250;
/** Lower bound for calls without input: keeps a model from busy polling. */
export const MIN_POLL_MS = 5_000;
export const MAX_POLL_MS = 300_000;
/** Wait after a write, until the terminal has echoed the input. */
export const ECHO_WAIT_MS = 100;
/** Strict-compat only: wait for an early exit, before the clock starts. */
export const EARLY_EXIT_WAIT_MS = 150;
/** Grace period for output after an exit; the command counts as finished behind it. */
export const CLOSE_GRACE_MS = 50;
/** Output after an exit restarts the grace period, up to this total. */
export const MAX_CLOSE_GRACE_MS = 1_000;
/** Wait for the end of the output before the end event of a background command. */
export const MAX_TRAILING_OUTPUT_MS = 100;
/** Timeout of the status request to an executor. */
export const STATUS_WAIT_MS = 1_000;
/** Longest wait of `close` for a terminated process. */
export const MAX_CLOSE_WAIT_MS = 5_000;

export const MAX_DELTA_BYTES = 8_192;
export const MAX_DELTAS = 10_000;

export const MAX_SESSIONS = 64;
/** Number of most recently used sessions that are never evicted. */
export const PROTECTED_SESSIONS = 8;
export const MIN_SESSION_ID = 1_000;
export const MAX_SESSION_ID = 99_999;

export const BYTES_PER_TOKEN = 4;
export const DEFAULT_OUTPUT_TOKENS = 10_000;
/** Size limit of a whole answer relative to the policy for its output, in tenths. */
export const MAX_ANSWER_TENTHS = 12;
export const CHUNK_ID_BYTES = 3;

/** Wait of a call for the command it has started. */
export function clampStartWindow(askedMs: number, isWindows: boolean): number {
	return clamp(askedMs, isWindows ? MIN_YIELD_WINDOWS_MS : MIN_YIELD_MS, MAX_YIELD_MS);
}

/** Wait of a call after it has written input. */
export function clampWriteWindow(askedMs: number): number {
	return clamp(askedMs, MIN_YIELD_MS, MAX_YIELD_MS);
}

/** Wait of a call without input. */
export function clampPollWindow(askedMs: number, maxPollMs: number = MAX_POLL_MS): number {
	return clamp(askedMs, MIN_POLL_MS, Math.max(maxPollMs, MIN_POLL_MS));
}

function clamp(value: number, min: number, max: number): number {
	return Math.min(Math.max(value, min), max);
}
