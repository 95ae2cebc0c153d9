// Linux only: prlimit and /proc/PID/oom_score_adj.
import {openSync, readFileSync, readSync, writeFileSync, writeSync} from 'node:fs';
import {setPriority} from 'node:os';
import {spawnError} from '../backend.js';
import type {ChildLimits} from '../child-limits.js';
import type {Libc} from './libc.js';

/** `RLIMIT_...` numbers of Linux. */
const RLIMIT_NUMBERS = {cpuSeconds: 0, fileBytes: 1, memoryBytes: 2, processes: 6, openFiles: 7} as const;
const RLIMIT_BYTES = 16;
/** `-1000` to `1000` and a line break, with room. */
const MAX_SCORE_BYTES = 16;

type RlimitName = keyof typeof RLIMIT_NUMBERS;
const RLIMITS = Object.entries(RLIMIT_NUMBERS) as [RlimitName, number][];

/** True for limits that a server cannot set for itself and undo: they are set for a child that waits. */
export function needsLauncher(limits: ChildLimits): boolean {
	return limits.group !== undefined || (limits.nice ?? 0) > 0 || RLIMITS.some(([name]) => limits[name] !== undefined);
}

/**
 * Limits a process that has not run anything yet; its descendants inherit the limits. Throws if one cannot be set that
 * bounds resources.
 */
export function applyLimits(libc: Libc, pid: number, limits: ChildLimits): void {
	const {nice, oomScore, group} = limits;
	group?.add(pid);
	for (const [name, resource] of RLIMITS) {
		const value = limits[name];
		if (value !== undefined) lowerLimit(libc, pid, resource, BigInt(value));
	}
	if (nice !== undefined && nice > 0) ignoreFailure(() => setPriority(pid, nice));
	if (oomScore !== undefined && oomScore > 0) ignoreFailure(() => raiseOomScore(pid, oomScore));
}

/** Runs `spawn` while this process has at least that score, which the child inherits: cheaper than a child that waits. */
export function withOomScore<T>(score: number | undefined, spawn: () => T): T {
	const before = score === undefined || score <= 0 ? undefined : ignoreFailure(() => raiseOwnOomScore(score));
	try {
		return spawn();
	} finally {
		if (before !== undefined) ignoreFailure(() => writeSync(holdOwnOomScore(), before, 0));
	}
}

let ownOomScore: number | undefined;
/** Score of this process, read once: every spawn would ask for it otherwise. */
let knownScore: string | undefined;

/** Opens the score of this process, which is not allowed any more once the process is hidden. */
export function holdOwnOomScore(): number {
	ownOomScore ??= openSync(oomScorePath('self'), 'r+');
	return ownOomScore;
}

/** Returns the score before, or undefined if it is high enough already. */
function raiseOwnOomScore(score: number): string | undefined {
	const fd = holdOwnOomScore();
	knownScore ??= readScore(fd);
	if (Number(knownScore) >= score) return undefined;
	writeSync(fd, String(score), 0);
	return knownScore;
}

function readScore(fd: number): string {
	const buffer = Buffer.alloc(MAX_SCORE_BYTES);
	return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0)).trim();
}

/** Never raises a limit: those of the server hold for its children, too. */
function lowerLimit(libc: Libc, pid: number, resource: number, value: bigint): void {
	const limit = Buffer.alloc(RLIMIT_BYTES);
	if (libc.prlimit(pid, resource, null, limit) !== 0) throw spawnError(libc.errno(), 'prlimit');
	for (const offset of [0, 8]) {
		if (value < limit.readBigUInt64LE(offset)) limit.writeBigUInt64LE(value, offset);
	}
	if (libc.prlimit(pid, resource, limit, null) !== 0) throw spawnError(libc.errno(), 'prlimit');
}

/** Ordinary users may only raise it. */
function raiseOomScore(pid: number, score: number): void {
	const path = oomScorePath(pid);
	if (Number(readFileSync(path, 'latin1')) < score) writeFileSync(path, String(score));
}

function oomScorePath(pid: number | 'self'): string {
	return `/proc/${pid}/oom_score_adj`;
}

function ignoreFailure<T>(action: () => T): T | undefined {
	try {
		return action();
	} catch {
		// The system refuses: a missing preference is no reason not to run.
		return undefined;
	}
}
