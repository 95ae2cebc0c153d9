// Linux only: system calls that processes are blocked in, by /proc. On other systems every call is hidden.
import {readlinkSync} from 'node:fs';
import {listProc, readProc} from '../tree/proc.js';

/** Threads of one process that are looked at. */
const MAX_EXAMINED_THREADS = 64;

/** Numbers of calls that wait for input: `read` and `readv` of one descriptor, the others of several. */
const CALLS: Partial<
	Record<NodeJS.Architecture, {readonly read: readonly number[]; readonly poll: readonly number[]}>
> = {
	// read, readv; poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2
	x64: {read: [0, 19], poll: [7, 23, 232, 270, 271, 281, 441]},
	// read, readv; epoll_pwait, pselect6, ppoll, epoll_pwait2
	arm64: {read: [63, 65], poll: [22, 72, 73, 441]},
};

/** Call that a thread is blocked in; `hidden` where the kernel does not tell, because the process belongs to another user. */
export type BlockedCall =
	| {readonly kind: 'read'; readonly fd: number}
	| {readonly kind: 'poll'}
	| {readonly kind: 'other'}
	| {readonly kind: 'hidden'};

const OTHER: BlockedCall = {kind: 'other'};
const HIDDEN: BlockedCall = {kind: 'hidden'};

/** The call of a thread; of the first one, whose number is that of the process, by default. */
export function readBlockedCall(pid: number, thread = pid): BlockedCall {
	const calls = CALLS[process.arch];
	if (!calls) return HIDDEN;
	let line: string;
	try {
		line = readProc(`${pid}/task/${thread}/syscall`);
	} catch (error) {
		return isRefusal(error) ? HIDDEN : OTHER;
	}
	// `running`, or numbers: that of the call in decimal, its arguments in hexadecimal.
	const [call, fd] = line.split(' ', 2).map(Number);
	if (calls.read.includes(call!)) return {kind: 'read', fd: fd!};
	return calls.poll.includes(call!) ? {kind: 'poll'} : OTHER;
}

/** Threads beside the first. */
export function listOtherThreads(pid: number): number[] {
	try {
		const threads = listProc(`${pid}/task`).map(Number);
		return threads.filter(thread => thread !== pid).slice(0, MAX_EXAMINED_THREADS);
	} catch {
		return [];
	}
}

/**
 * The file a descriptor of a process refers to, such as `pipe:[7]`; undefined if it cannot be told. The file itself is not
 * touched: a file system that does not answer would block this program.
 */
export function readDescriptorTarget(pid: number, fd: number): string | undefined {
	try {
		return readlinkSync(`/proc/${pid}/fd/${fd}`);
	} catch {
		return undefined;
	}
}

/** Facts about a process that everybody may read. */
export interface ProcessActivity {
	readonly pid: number;
	readonly groupId: number;
	/** Device number of its controlling terminal; 0 without one. */
	readonly terminal: number;
	/** It waits for an event, and a signal would wake it. */
	readonly isSleeping: boolean;
	/** Processor time of all its threads, in ticks of 10 ms. */
	readonly cpuTicks: number;
}

/** Undefined when the process is gone. */
export function readActivity(pid: number): ProcessActivity | undefined {
	let stat: string;
	try {
		stat = readProc(`${pid}/stat`);
	} catch {
		return undefined;
	}
	// The name stands in parentheses and may hold any character, parentheses included.
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	const [state] = fields;
	if (state === 'Z' || state === 'X') return undefined;
	return {
		pid,
		groupId: Number(fields[2]),
		terminal: Number(fields[4]),
		isSleeping: state === 'S',
		cpuTicks: Number(fields[11]) + Number(fields[12]),
	};
}

function isRefusal(error: unknown): boolean {
	const {code} = error as NodeJS.ErrnoException;
	return code === 'EACCES' || code === 'EPERM';
}
