import {statSync} from 'node:fs';
import {listProc, readProc} from './proc.js';

/** A living process as the kernel describes it. */
export interface ProcessInfo {
	readonly pid: number;
	readonly parentPid: number;
	readonly groupId: number;
	readonly sessionId: number;
	/** Whose it is, as far as signals are concerned. */
	readonly userId: number;
	/** Together with the pid it names one process for ever; pids alone are used again. */
	readonly startTime: string;
	/** The kernel's short name of the program. */
	readonly command: string;
}

/** Undefined when there is no such process any more; a zombie counts as gone. Linux only: elsewhere nothing is found. */
export function processInfo(pid: number): ProcessInfo | undefined {
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
	if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
	return {
		pid,
		parentPid: Number(fields[1]),
		groupId: Number(fields[2]),
		sessionId: Number(fields[3]),
		userId,
		startTime: fields[19] ?? '',
		command: Buffer.from(stat.slice(open + 1, close), 'latin1').toString(),
	};
}

/** Pids of the direct children, of every thread. */
export function childrenOf(pid: number): number[] {
	// A thread that ends leaves its children to an earlier one: that has to be looked at later.
	return threadsOf(pid)
		.reverse()
		.flatMap(thread => childrenOfThread(pid, thread));
}

/** Whether each of its threads is stopped or dead. One that waits in the kernel may be in the middle of a fork. */
export function isHalted(pid: number): boolean {
	return threadsOf(pid).every(thread => {
		try {
			const stat = readProc(`${pid}/task/${thread}/stat`);
			return /^[TtZX] /.test(stat.slice(stat.lastIndexOf(')') + 2));
		} catch {
			return true;
		}
	});
}

function threadsOf(pid: number): string[] {
	try {
		return listProc(`${pid}/task`);
	} catch {
		return [];
	}
}

function childrenOfThread(pid: number, thread: string): number[] {
	try {
		return readProc(`${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number);
	} catch {
		return [];
	}
}

/** Every living process below `pid`, whatever group or session it moved to, parents before children. */
export function descendantsOf(pid: number): ProcessInfo[] {
	const found: ProcessInfo[] = [];
	const queue = childrenOf(pid);
	for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
		const info = processInfo(next);
		if (info) found.push(info);
		queue.push(...childrenOf(next));
	}
	return found;
}

/**
 * The living members of sessions whose leaders are gone. A number is not given anew while it has members: where there is
 * a process of the leader's number, it is another's.
 */
export function membersOf(leaders: ReadonlySet<number>): ProcessInfo[] {
	const living = listProc('')
		.filter(name => /^\d+$/.test(name))
		.map(name => processInfo(Number(name)))
		.filter(info => info !== undefined);
	const taken = new Set(living.map(({pid}) => pid));
	return living.filter(({sessionId}) => leaders.has(sessionId) && !taken.has(sessionId));
}

/** Whether it is still the same process and not a later one with its pid. */
export function stillLives({pid, startTime}: ProcessInfo): boolean {
	return processInfo(pid)?.startTime === startTime;
}
