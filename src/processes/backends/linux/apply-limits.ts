import {readFileSync, writeFileSync} from 'node:fs';
import {setPriority} from 'node:os';
import type {ChildLimits} from '../child-limits.js';
import type {Libc} from './libc.js';

/** Linux's numbers of the limits. */
const RESOURCES = {cpuSeconds: 0, fileBytes: 1, memoryBytes: 2, processes: 6, openFiles: 7} as const;
const RLIMIT_BYTES = 16;

/**
 * Limits a process that was just started. It can have done next to nothing by then, and what it starts inherits them. A
 * process that has ended meanwhile needs no limits.
 */
export function applyLimits(libc: Libc, pid: number, limits: ChildLimits): void {
	const {nice, oomScore, group} = limits;
	group?.add(pid);
	for (const [name, resource] of Object.entries(RESOURCES) as [keyof typeof RESOURCES, number][]) {
		const value = limits[name];
		if (value !== undefined) lower(libc, pid, resource, BigInt(value));
	}
	if (nice !== undefined && nice > 0) ifAlive(() => setPriority(pid, nice));
	if (oomScore !== undefined && oomScore > 0) ifAlive(() => raiseOomScore(pid, oomScore));
}

/** Never raises: what the server itself is held to holds for its children, too. */
function lower(libc: Libc, pid: number, resource: number, value: bigint): void {
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

function ifAlive(act: () => void): void {
	try {
		act();
	} catch {
		// It was faster, or the system does not let us; limits are no reason not to run.
	}
}
