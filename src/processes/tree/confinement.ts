// Linux only: reads /proc.
import {readlinkSync} from 'node:fs';
import {readProc} from './proc.js';
import {readProcessInfo} from './process-tree.js';

/** Figures of `/proc/PID/status` that a process can raise for itself and its descendants, and can never lower. */
const RESTRICTIONS = [/^NoNewPrivs:\s*(\d+)/m, /^Seccomp:\s*(\d+)/m, /^Seccomp_filters:\s*(\d+)/m];
/** Limit that tags the descendants of a longarm program; `backends/linux/descendant-tags.ts` sets it. */
const TAG_LINE = /^Max realtime timeout\s+(\S+)\s+(\S+)/m;
const NO_LIMIT = 'unlimited';
/** Most ancestors that are followed. */
const MAX_ANCESTORS = 4096;

/**
 * Whether a process is in a sandbox that this program is not in: in another user namespace, with a filter of system calls, or
 * unable to gain privileges. A process that is gone counts as one.
 */
export function isConfined(pid: number): boolean {
	try {
		const [own, other] = [readProc('self/status'), readProc(`${pid}/status`)];
		return RESTRICTIONS.some(line => readFigure(other, line) > readFigure(own, line)) || isInOtherNamespace(pid);
	} catch {
		return true;
	}
}

/** Whether a process or one of its ancestors has the tag of a child of a longarm program, whichever that is. */
export function descendsFromLongarm(pid: number): boolean {
	let current: number | undefined = pid;
	for (let steps = 0; current !== undefined && current > 0 && steps < MAX_ANCESTORS; steps++) {
		if (hasTag(current)) return true;
		current = readProcessInfo(current)?.parentPid;
	}
	return false;
}

function readFigure(status: string, line: RegExp): number {
	return Number(line.exec(status)?.[1] ?? 0);
}

/** A process that hides its memory does not show its namespace either; its restrictions can be read all the same. */
function isInOtherNamespace(pid: number): boolean {
	try {
		return readlinkSync(`/proc/${pid}/ns/user`) !== readlinkSync('/proc/self/ns/user');
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'ENOENT';
	}
}

/** The limit of a program that is not below longarm is not set. */
function hasTag(pid: number): boolean {
	try {
		const [, soft, hard] = TAG_LINE.exec(readProc(`${pid}/limits`)) ?? [];
		return [soft, hard].some(value => value !== undefined && value !== NO_LIMIT);
	} catch {
		return false;
	}
}
