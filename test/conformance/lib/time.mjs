// Time limits. A machine under load is slow, not broken: a test orders events, or waits for one until a deadline that
// only a server that never gets there reaches. A lower bound on elapsed time is safe, an upper one is not.
import {setTimeout as sleep} from 'node:timers/promises';

/** Longest wait for an event that has to come. */
export const DEADLINE_MS = 30_000;
/** Waits that the server has to cut short; above the deadline, so that a server that waits to the end fails. */
export const ENDLESS_MS = 90_000;
/** Tolerance below a lower bound, for clocks that tick in steps. */
export const CLOCK_SLACK_MS = 50;

/** Polls `probe` until it returns something truthy and resolves to that. */
export async function eventually(probe, what, {ms = DEADLINE_MS, everyMs = 20} = {}) {
	for (const end = performance.now() + ms; ; await sleep(everyMs)) {
		const value = await probe();
		if (value) return value;
		if (performance.now() > end) throw new Error(`expected ${what} within ${ms} ms`);
	}
}

/** Resolves to the milliseconds that `action` took; only good for lower bounds. */
export async function elapsedMs(action) {
	const began = performance.now();
	await action();
	return performance.now() - began;
}
