// Linux only: system calls that processes are blocked in, by /proc. On other systems every call is hidden.
import {readlinkSync} from 'node:fs';
import {listProc, readProc} from '../tree/proc.js';

/** Threads of one process that are looked at. */
const MAX_EXAMINED_THREADS = 64;

/** Where a call that waits for several descriptors has its timeout: milliseconds, negative for none, or a pointer, null for none. */
interface TimeoutArgument {
	readonly index: number;
	readonly form: 'milliseconds' | 'pointer';
}

/** Numbers of calls that wait for input: `read` and `readv` of one descriptor, the others of several. */
interface CallNumbers {
	readonly read: readonly number[];
	readonly poll: ReadonlyMap<number, TimeoutArgument>;
}

const CALLS: Partial<Record<NodeJS.Architecture, CallNumbers>> = {
	// read, readv; poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2
	x64: {
		read: [0, 19],
		poll: new Map([
			[7, {index: 2, form: 'milliseconds'}],
			[23, {index: 4, form: 'pointer'}],
			[232, {index: 3, form: 'milliseconds'}],
			[270, {index: 4, form: 'pointer'}],
			[271, {index: 2, form: 'pointer'}],
			[281, {index: 3, form: 'milliseconds'}],
			[441, {index: 3, form: 'pointer'}],
		]),
	},
	// read, readv; epoll_pwait, pselect6, ppoll, epoll_pwait2
	arm64: {
		read: [63, 65],
		poll: new Map([
			[22, {index: 3, form: 'milliseconds'}],
			[72, {index: 4, form: 'pointer'}],
			[73, {index: 2, form: 'pointer'}],
			[441, {index: 3, form: 'pointer'}],
		]),
	},
};

/** Call that a thread is blocked in; `hidden` where the kernel does not tell, because the process belongs to another user. */
export type BlockedCall =
	| {readonly kind: 'read'; readonly fd: number}
	/** `hasTimeout` if the call returns after a while without input. */
	| {readonly kind: 'poll'; readonly hasTimeout: boolean}
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
	const [number, ...args] = line.split(' ');
	const call = Number(number);
	if (calls.read.includes(call)) return {kind: 'read', fd: Number(args[0])};
	const timeout = calls.poll.get(call);
	return timeout ? {kind: 'poll', hasTimeout: isSet(timeout, args[timeout.index])} : OTHER;
}

function isSet({form}: TimeoutArgument, value = '0x0'): boolean {
	return form === 'pointer' ? Number(value) !== 0 : BigInt.asIntN(32, BigInt(value)) >= 0n;
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
