import {readdirSync, readFileSync} from 'node:fs';
import {setTimeout} from 'node:timers/promises';

const POLL_INTERVAL_MS = 5;
/** Longer than any working code takes, even on a loaded machine. */
const MAX_WAIT_MS = 90_000;

/** Refuses an asynchronous probe at compile time: its promise would count as a value, and the wait would end at once. */
type Synchronous<T> = T extends PromiseLike<unknown> ? 'a probe must not return a promise' : unknown;

/**
 * Polls until `probe` returns something other than undefined or false; for changes without an event to wait for.
 * Rejects with the text of the probe after MAX_WAIT_MS.
 */
export async function eventually<T>(probe: (() => T | undefined | false) & Synchronous<T>): Promise<T> {
	const deadline = monotonicMs() + MAX_WAIT_MS;
	for (;;) {
		const value = probe();
		if (value !== undefined && value !== false) return value;
		if (monotonicMs() > deadline) throw new Error(`not within ${MAX_WAIT_MS} ms: ${String(probe)}`);
		await setTimeout(POLL_INTERVAL_MS);
	}
}

/**
 * Asks again, with a pause, until an answer fits. The pause lets timers and I/O run where an answer needs neither: without
 * it such a loop would never end, and its test would not even time out. Rejects with the last answer after `maxMs`.
 */
export async function askUntil<T>(
	ask: () => Promise<T>,
	fits: (answer: T) => boolean,
	maxMs: number = MAX_WAIT_MS,
): Promise<T> {
	const deadline = monotonicMs() + maxMs;
	for (;;) {
		const answer = await ask();
		if (fits(answer)) return answer;
		if (monotonicMs() > deadline) throw new Error(`not within ${maxMs} ms, but ${JSON.stringify(answer)}`);
		await setTimeout(POLL_INTERVAL_MS);
	}
}

/** Not `performance`, which tests fake. */
function monotonicMs(): number {
	return Number(process.hrtime.bigint() / 1_000_000n);
}

/** False for zombies, too. */
export function isAlive(pid: number): boolean {
	try {
		return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
	} catch {
		return false;
	}
}

export async function untilDead(...pids: number[]): Promise<void> {
	for (const pid of pids) {
		if (!Number.isInteger(pid) || pid <= 1) throw new Error(`not a process id: ${pid}`);
		await eventually(() => !isAlive(pid));
	}
}

/** File descriptors this process has open. */
export function countOpenDescriptors(): number {
	return readdirSync('/proc/self/fd').length;
}
