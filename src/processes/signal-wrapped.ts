import {readProc} from './proc.js';
import {childrenOf, processInfo} from './process-tree.js';
import {signalGroup} from './signal-group.js';

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
