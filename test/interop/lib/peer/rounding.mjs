/** Steps of timers as people choose them, from coarse to fine, in milliseconds. */
const STEPS_MS = [60_000, 30_000, 10_000, 5000, 1000, 500, 100, 50, 10, 1];

/**
 * Returns the roundest duration between two measured bounds: 80 s for a timer that was still running after 79.5 s and
 * had expired after 80.6 s. A loaded machine widens the bounds, and the result stays the same.
 */
export function roundestBetween(lowMs, highMs) {
	for (const step of STEPS_MS) {
		const candidate = Math.floor(highMs / step) * step;
		if (candidate >= lowMs) return candidate;
	}
	return Math.round((lowMs + highMs) / 2);
}

/** Rounds to a multiple of `stepMs`. */
export function roundTo(ms, stepMs) {
	return Math.round(ms / stepMs) * stepMs;
}

export function median(numbers) {
	return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];
}
