// Linux only: prlimit and /proc/PID/oom_score_adj.
import {readFileSync, writeFileSync} from 'node:fs';
import {setPriority} from 'node:os';
import type {ChildLimits} from '../child-limits.js';
import type {Libc} from './libc.js';

/** `RLIMIT_...` numbers of Linux. */
const RLIMIT_NUMBERS = {cpuSeconds: 0, fileBytes: 1, memoryBytes: 2, processes: 6, openFiles: 7} as const;
const RLIMIT_BYTES = 16;

/**
 * Limits a process that was just spawned, before it can have done much; its descendants inherit the limits. A process
 * that has exited since needs none.
 */
export function applyLimits(libc: Libc, pid: number, limits: ChildLimits): void {
	const {nice, oomScore, group} = limits;
	group?.add(pid);
	for (const [name, resource] of Object.entries(RLIMIT_NUMBERS) as [keyof typeof RLIMIT_NUMBERS, number][]) {
		const value = limits[name];
		if (value !== undefined) lowerLimit(libc, pid, resource, BigInt(value));
	}
	if (nice !== undefined && nice > 0) ignoreFailure(() => setPriority(pid, nice));
	if (oomScore !== undefined && oomScore > 0) ignoreFailure(() => raiseOomScore(pid, oomScore));
}

/** Never raises a limit: those of the server hold for its children, too. */
function lowerLimit(libc: Libc, pid: number, resource: number, value: bigint): void {
	const limit = Buffer.alloc(RLIMIT_BYTES);
	if (libc.prlimit(pid, resource, null, limit) !== 0) return;
	for (const offset of [0, 8]) {
		if (value < limit.readBigUInt64LE(offset)) limit.writeBigUInt64LE(value, offset);
	}
	libc.prlimit(pid, resource, limit, null);
}

/** Ordinary users may only raise it. */
function raiseOomScore(pid: number, score: number): void {
	const path = `/proc/${pid}/oom_score_adj`;
	if (Number(readFileSync(path, 'latin1')) < score) writeFileSync(path, String(score));
}

function ignoreFailure(action: () => void): void {
	try {
		action();
	} catch {
		// The process has exited, or the system refuses: a missing limit is no reason not to run.
	}
}
