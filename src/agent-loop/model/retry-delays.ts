const BASE_DELAY_MS = 200;
const JITTER = 0.1;
/** Longest wait an endpoint may ask for; a request that would have to wait longer fails at once. */
export const MAX_RETRY_WAIT_MS = 300_000;

/** Exponential back-off with jitter, `attempt` from 1, so that many workers do not come back at the same moment. */
export function backOffMs(attempt: number, baseMs = BASE_DELAY_MS, random: () => number = Math.random): number {
	return baseMs * 2 ** (attempt - 1) * (1 - JITTER + 2 * JITTER * random());
}

/** Milliseconds of a `retry-after` header, which holds seconds or a date; undefined without a usable one. */
export function parseRetryAfter(value: string | null, now = Date.now()): number | undefined {
	if (value === null || value.trim() === '') return undefined;
	const seconds = Number(value);
	const ms = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1000;
	return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Milliseconds of "try again in 1.5s" or "in 20 ms" in the message of a rate limit. */
export function parseTryAgain(message: string): number | undefined {
	const match = /try again in\s*(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|seconds?)\b/i.exec(message);
	if (!match) return undefined;
	return Number(match[1]) * (match[2]!.toLowerCase().startsWith('m') ? 1 : 1000);
}
