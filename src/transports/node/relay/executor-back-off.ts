/** Pauses between attempts double from the first to the longest, each times a random half to whole. */
export const FIRST_BACKOFF_MS = 200;
export const MAX_BACKOFF_MS = 5000;
/** Longest pause after a socket that was open: the relay works, and clients try to resume for 45 s only, older ones for 25 s. */
export const MAX_REOPENING_BACKOFF_MS = 800;
const MAX_REOPENING_STEPS = Math.log2(MAX_REOPENING_BACKOFF_MS / FIRST_BACKOFF_MS);

/** How long an executor waits before it opens its socket again. */
export class ExecutorBackOff {
	#steps = 0;

	/** Milliseconds of the next pause. */
	next(): number {
		const longest = Math.min(FIRST_BACKOFF_MS * 2 ** this.#steps++, MAX_BACKOFF_MS);
		return longest * (0.5 + Math.random() / 2);
	}

	/** A socket was open and is lost, served or not. */
	lost(): void {
		this.#steps = Math.min(this.#steps, MAX_REOPENING_STEPS);
	}

	/** A client was served, which proves that the relay works: the next loss is mended at once. */
	served(): void {
		this.#steps = 0;
	}
}
