// Linux only: reads /proc. On other systems no process is found, and only the process group is signalled.
import {statSync} from 'node:fs';
import {listProc, readProc} from './proc.js';

/** Links of `/proc/PID/task` with one thread: two as any directory, and one per thread. */
const SINGLE_THREAD_LINKS = 3;

/** Generations below a process that are listed. */
const MAX_DEPTH = 200;

const SPACE = 0x20;
const ZERO = 0x30;

/** A living process as the kernel describes it. */
export interface ProcessInfo {
	readonly pid: number;
	readonly parentPid: number;
	readonly groupId: number;
	readonly sessionId: number;
	/** Effective user id; decides who may signal the process. */
	readonly userId: number;
	/** Clock ticks since boot. Unique together with the pid, which the kernel reuses. */
	readonly startTime: string;
	/** The kernel's short name of the program. */
	readonly command: string;
}

/** A process that may have exited without having been reaped. */
export interface ProcessOrZombie extends ProcessInfo {
	readonly isDead: boolean;
}

/** Undefined when the process is gone; a zombie counts as gone. */
export function readProcessInfo(pid: number): ProcessInfo | undefined {
	const found = readProcessOrZombie(pid);
	if (!found || found.isDead) return undefined;
	const {isDead: _, ...info} = found;
	return info;
}

/** Undefined when the process is gone. */
export function readProcessOrZombie(pid: number): ProcessOrZombie | undefined {
	let stat: string;
	let userId: number;
	try {
		stat = readProc(`${pid}/stat`);
		userId = statSync(`/proc/${pid}`).uid;
	} catch {
		return undefined;
	}
	// The name stands in parentheses and may hold any character, parentheses included.
	const open = stat.indexOf('(');
	const close = stat.lastIndexOf(')');
	const fields = stat.slice(close + 2).split(' ');
	return {
		pid,
		// The first thread of a process may end before the others: the process lives on and looks like a zombie.
		isDead: /^[ZX]$/.test(fields[0]!) && Number(fields[17]) <= 1,
		parentPid: Number(fields[1]),
		groupId: Number(fields[2]),
		sessionId: Number(fields[3]),
		userId,
		startTime: fields[19] ?? '',
		command: Buffer.from(stat.slice(open + 1, close), 'latin1').toString(),
	};
}

/**
 * True if the process certainly has no children and belongs to the user of this one: a look that costs a fifth of one at
 * its tree, and leaves less in the kernel to be cleaned up when the process is reaped.
 */
export function isCertainlyAlone(pid: number): boolean {
	try {
		// The kernel counts the threads as links of their directory.
		const {nlink, uid} = statSync(`/proc/${pid}/task`);
		return (
			nlink === SINGLE_THREAD_LINKS && uid === process.geteuid?.() && readProc(`${pid}/task/${pid}/children`) === ''
		);
	} catch {
		return false;
	}
}

/** Pids of the direct children, of every thread. */
export function listChildren(pid: number): number[] {
	// A thread that ends hands its children to an earlier thread, so the earlier ones are read last.
	return listThreads(pid)
		.reverse()
		.flatMap(thread => listChildrenOfThread(pid, thread));
}

/** True when every thread is stopped or dead. A thread that waits in the kernel may be in the middle of a fork. */
export function isHalted(pid: number): boolean {
	return listThreads(pid).every(thread => {
		try {
			const stat = readProc(`${pid}/task/${thread}/stat`);
			return /^[TtZX] /.test(stat.slice(stat.lastIndexOf(')') + 2));
		} catch {
			return true;
		}
	});
}

function listThreads(pid: number): string[] {
	try {
		return listProc(`${pid}/task`);
	} catch {
		return [];
	}
}

/** Pids of the children of one thread, in the order in which it got them. */
export function listChildrenOfThread(pid: number, thread: string): number[] {
	try {
		return parseNumbers(readProc(`${pid}/task/${thread}/children`));
	} catch {
		return [];
	}
}

/** Digits with a space behind each number, read one by one: a server has thousands of children. */
function parseNumbers(text: string): number[] {
	const numbers: number[] = [];
	let number = 0;
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at);
		if (code === SPACE) {
			numbers.push(number);
			number = 0;
		} else {
			number = number * 10 + code - ZERO;
		}
	}
	return numbers;
}

/**
 * Every living process below `pid`, whatever group or session it moved to, parents before children. `visit` is called before
 * the children of a process are listed. Unless it stops them, processes that fork and exit all the time are followed for as
 * long as they do, so that the depth is limited.
 */
export function listDescendants(pid: number, visit: (pid: number) => void = () => {}): ProcessInfo[] {
	const found: ProcessInfo[] = [];
	let level = listChildren(pid);
	for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
		const below: number[] = [];
		for (const each of level) {
			visit(each);
			const info = readProcessInfo(each);
			if (info) found.push(info);
			below.push(...listChildren(each));
		}
		level = below;
	}
	return found;
}

/**
 * The living members of sessions whose leaders are gone. The kernel does not reuse a session id while the session has
 * members, so a living process with the pid of a leader belongs to another, later session.
 */
export function listSessionMembers(leaders: ReadonlySet<number>): ProcessInfo[] {
	const living = listProc('')
		.filter(name => /^\d+$/.test(name))
		.map(name => readProcessInfo(Number(name)))
		.filter(info => info !== undefined);
	const livingPids = new Set(living.map(({pid}) => pid));
	return living.filter(({sessionId}) => leaders.has(sessionId) && !livingPids.has(sessionId));
}

/** False for a later process that got the same pid. */
export function isStillAlive({pid, startTime}: ProcessInfo): boolean {
	return readProcessInfo(pid)?.startTime === startTime;
}
