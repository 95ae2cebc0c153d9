import {readFileSync} from 'node:fs';
import {setTimeout} from 'node:timers/promises';

const POLL_INTERVAL_MS = 5;
/** Only something broken takes this long, on a loaded machine too. */
const MAX_WAIT_MS = 90_000;

/** Refuses an asynchronous probe at compile time: its promise would count as a value, and the wait would end at once. */
type Synchronous<T> = T extends PromiseLike<unknown> ? 'a probe must not return a promise' : unknown;

/**
 * Polls until `probe` returns something other than undefined or false; for what the kernel does and nobody reports.
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

/** Not `performance`, which tests stop and set. */
function monotonicMs(): number {
	return Number(process.hrtime.bigint() / 1_000_000n);
}

/** Whether a process runs; one that is dead and only not reaped yet does not. */
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
