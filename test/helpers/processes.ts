import {readFileSync} from 'node:fs';
import {setTimeout} from 'node:timers/promises';

const LOOK_AGAIN_MS = 5;

/** Waits until `probe` returns something; for what the kernel does and nobody reports. */
export async function eventually<T>(probe: () => T | undefined | false): Promise<T> {
	for (;;) {
		const value = probe();
		if (value !== undefined && value !== false) return value;
		await setTimeout(LOOK_AGAIN_MS);
	}
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
