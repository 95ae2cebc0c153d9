import {readProc} from './proc.js';
import {childrenOf, processInfo} from './process-tree.js';
/**
 * Signals every process of the group that `pid` leads. A group that is gone already is no error: false. Nor is one of
 * which nobody may be signalled, because a program such as `sudo` made itself another user's.
 */
export function signalGroup(pid: number, name: NodeJS.Signals | 0): boolean {
	return signal(-pid, name);
}

/** The same for the process alone. */
export function signalProcess(pid: number, name: NodeJS.Signals): boolean {
	return signal(pid, name);
}

function signal(target: number, name: NodeJS.Signals | 0): boolean {
	try {
		return process.kill(target, name);
	} catch (error) {
		const {code} = error as NodeJS.ErrnoException;
		if (code === 'ESRCH' || code === 'EPERM') return false;
		throw error;
	}
}

/** What the first program of a namespace is called inside: the process before it is the namespace's own. */
const FIRST_PROGRAM = '2';

/**
 * Signals the group of the program behind a wrapper. The wrapper, which would die of the signal and take the program
 * along, gets it only when it has to: to be killed, or while there is no program yet.
 */
export function signalWrapped(wrapper: number, name: NodeJS.Signals): boolean {
	const program = name === 'SIGKILL' ? undefined : programBehind(wrapper);
	const group = program === undefined ? undefined : processInfo(program)?.groupId;
	return signalGroup(group ?? wrapper, name);
}

function programBehind(wrapper: number): number | undefined {
	return childrenOf(wrapper)
		.flatMap(childrenOf)
		.find(pid => nameInside(pid) === FIRST_PROGRAM);
}

function nameInside(pid: number): string | undefined {
	try {
		return /^NSpid:.*\s(\d+)$/m.exec(readProc(`${pid}/status`))?.[1];
	} catch {
		return undefined;
	}
}
