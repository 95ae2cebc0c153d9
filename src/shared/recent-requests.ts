/** Milliseconds after a request in which its caller is likely to ask again, or to wait for output. */
const RECENT_MS = 20;

let lastRequestAt = Number.NEGATIVE_INFINITY;

/** A client has asked for something at this time of `performance.now()`. */
export function noteRequest(now: number): void {
	lastRequestAt = now;
}

/** A caller is likely to wait for the event loop: work in long turns has to be cut into short ones. */
export function isAnyoneAsking(): boolean {
	return performance.now() - lastRequestAt < RECENT_MS;
}
