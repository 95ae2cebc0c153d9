import {MAX_POLL_MS, MAX_YIELD_MS, SMALLEST_POLL_MS, SMALLEST_YIELD_MS, SMALLEST_YIELD_WINDOWS_MS} from './limits.js';

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
