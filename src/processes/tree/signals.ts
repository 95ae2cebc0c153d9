import {constants} from 'node:os';
import {loadKoffi} from '../../shared/node/koffi.js';
import {readProc} from './proc.js';
import {listChildren, readProcessInfo} from './process-tree.js';

/** Pid, inside a new PID namespace, of the first program; pid 1 is the init process of the namespace. */
const FIRST_PROGRAM_PID = '2';

/**
 * Signals the process group that `pid` leads. Returns false, without an error, when the group is gone or no member may
 * be signalled, because a program such as `sudo` changed its user.
 */
export function signalGroup(pid: number, name: NodeJS.Signals): boolean {
	return sendSignal(-pid, name);
}

/** Like `signalGroup`, for a single process. */
export function signalProcess(pid: number, name: NodeJS.Signals): boolean {
	return sendSignal(pid, name);
}

type Kill = (pid: number, signal: number) => number;

let kill: Kill | undefined;

/**
 * Whether the group that `pid` leads has a member that may be signalled, zombies included. After each process that was ended
 * it is asked of a group that is gone, for which Node's own call makes an exception with a stack.
 */
export function hasGroup(pid: number): boolean {
	kill ??= loadKill();
	return kill(-pid, 0) === 0;
}

function loadKill(): Kill {
	try {
		if (process.platform === 'linux') return loadKoffi().load(null).func('int kill(int pid, int signal)') as Kill;
	} catch {
		// No bridge to the C library.
	}
	return pid => (sendSignal(pid, 0) ? 0 : -1);
}

function sendSignal(target: number, name: NodeJS.Signals | 0): boolean {
	try {
		return process.kill(target, name);
	} catch (error) {
		const {code} = error as NodeJS.ErrnoException;
		if (code === 'ESRCH' || code === 'EPERM') return false;
		throw error;
	}
}

/**
 * Linux only. Signals the process group of the program inside a wrapper. The wrapper itself would die of the signal and
 * take the program along, so it is signalled only while the program does not run yet.
 */
export function signalWrappedProgram(wrapper: number, name: Exclude<NodeJS.Signals, 'SIGKILL'>): boolean {
	const program = findWrappedProgram(wrapper);
	const group = program === undefined ? undefined : readProcessInfo(program)?.groupId;
	return signalGroup(group ?? wrapper, name);
}

/**
 * Linux only. Asks the program to end: with SIGTERM, and with SIGHUP before if it runs on a terminal and ignores SIGTERM, as
 * interactive shells do. They end when their terminal hangs up.
 */
export function askToEnd(pid: number, {isWrapper, hasTerminal}: {isWrapper: boolean; hasTerminal: boolean}): void {
	const program = isWrapper ? (findWrappedProgram(pid) ?? pid) : pid;
	const send = isWrapper ? signalWrappedProgram : signalGroup;
	if (hasTerminal && ignoresTermination(program)) send(pid, 'SIGHUP');
	send(pid, 'SIGTERM');
}

function ignoresTermination(pid: number): boolean {
	try {
		const mask = /^SigIgn:\s+(\w+)$/m.exec(readProc(`${pid}/status`))?.[1] ?? '0';
		return ((BigInt(`0x${mask}`) >> BigInt(constants.signals.SIGTERM - 1)) & 1n) === 1n;
	} catch {
		return false;
	}
}

/** The second process of a PID namespace, or a child of the wrapper that leads a session where there is no namespace. */
function findWrappedProgram(wrapper: number): number | undefined {
	const children = listChildren(wrapper);
	const inside = children.flatMap(listChildren).find(pid => readInnermostPid(pid) === FIRST_PROGRAM_PID);
	return (
		inside ?? children.find(pid => readInnermostPid(pid) === String(pid) && readProcessInfo(pid)?.sessionId === pid)
	);
}

function readInnermostPid(pid: number): string | undefined {
	try {
		return /^NSpid:.*\s(\d+)$/m.exec(readProc(`${pid}/status`))?.[1];
	} catch {
		return undefined;
	}
}
