import type {AwaitedInput} from '../../protocol/methods/sharing-params.js';
import type {InputSource} from '../backends/backend.js';
import {listChildren} from '../tree/process-tree.js';
import {findOrphansOf, type ProcessRoot} from '../tree/subreaper.js';
import {
	listOtherThreads,
	type ProcessActivity,
	readActivity,
	readBlockedCall,
	readDescriptorTarget,
} from './blocked-calls.js';

/** Processes of one tree that are looked at, those near its root first. */
const MAX_EXAMINED_PROCESSES = 256;

/** Input that a process seems to wait for at one moment. */
export interface InputFinding {
	readonly awaited: AwaitedInput;
	/** The kernel tells only that the process waits for something: it has to be idle for a while. */
	readonly isGuess: boolean;
	/** Changes when the processes do anything; of a guess, also when they use the processor. */
	readonly activity: string;
}

type Terminal = Extract<InputSource, {kind: 'terminal'}>;

/**
 * One look at the processes that may read the input of a child: those of the terminal's foreground, or its whole tree. One
 * whose first thread is blocked in `read` on that very input waits for it. The rest are guesses: a thread of many that
 * reads it, a raw terminal whose program waits for one of several events, and programs of other users, such as `sudo`, on
 * a terminal that hides what is typed. A program that continues by itself after a timeout, such as `top`, does not wait for
 * input, except for a password.
 */
export function examineInput(leader: ProcessRoot, source: InputSource): InputFinding | undefined {
	const readers = source.kind === 'pipe' ? listTree(leader) : listForeground(leader, source);
	const reader = readers.find(each => isReading(each, each.pid, source));
	if (reader) return {awaited: kindOf(source), isGuess: false, activity: `${reader.pid}`};
	if (!readers.some(each => seemsToWait(each, source)) || !readers.every(each => each.isSleeping)) return undefined;
	const activity = readers.map(({pid, cpuTicks}) => `${pid}:${cpuTicks}`).join();
	return {awaited: kindOf(source), isGuess: true, activity};
}

/** A terminal that edits lines without showing them is asked for a password. */
function kindOf(source: InputSource): AwaitedInput {
	return source.kind === 'terminal' && isHidingLines(source) ? 'password' : 'input';
}

function isHidingLines({isCanonical, isEchoing}: Terminal): boolean {
	return isCanonical && !isEchoing;
}

function isReading(reader: ProcessActivity, thread: number, source: InputSource): boolean {
	if (source.kind === 'terminal' && source.hasReadTimeout) return false;
	const call = readBlockedCall(reader.pid, thread);
	return call.kind === 'read' && isInput(readDescriptorTarget(reader.pid, call.fd), reader, source);
}

function isInput(target: string | undefined, reader: ProcessActivity, source: InputSource): boolean {
	if (target === undefined) return false;
	if (source.kind === 'pipe') return target === `pipe:[${source.inode}]`;
	if (target === source.path) return true;
	// `/dev/tty` is the controlling terminal. In a sandbox, either has a path that is cut off at the root of its own `/dev`.
	const name = target.slice(target.lastIndexOf('/') + 1);
	const ownName = source.path.slice(source.path.lastIndexOf('/') + 1);
	return reader.terminal === source.device && (name === 'tty' || name === ownName);
}

function seemsToWait({pid, ...reader}: ProcessActivity, source: InputSource): boolean {
	if (source.kind === 'terminal') {
		const call = readBlockedCall(pid);
		if ((call.kind === 'poll' || call.kind === 'hidden') && isHidingLines(source)) return true;
		if (call.kind === 'poll' && !call.hasTimeout && !source.isCanonical) return true;
	}
	return listOtherThreads(pid).some(thread => isReading({pid, ...reader}, thread, source));
}

/** Members of the process group in the foreground; the whole tree when no session has the terminal. */
function listForeground(leader: ProcessRoot, {foregroundGroup}: Terminal): ProcessActivity[] {
	const tree = listTree(leader);
	if (foregroundGroup === undefined) return tree;
	const members = tree.filter(({groupId}) => groupId === foregroundGroup);
	if (members.length > 0) return members;
	const groupLeader = readActivity(foregroundGroup);
	return groupLeader ? [groupLeader] : [];
}

function listTree(leader: ProcessRoot): ProcessActivity[] {
	const found: ProcessActivity[] = [];
	const queue = [leader.pid, ...findOrphansOf([leader]).map(({pid}) => pid)];
	for (const pid of queue) {
		if (found.length === MAX_EXAMINED_PROCESSES) break;
		const activity = readActivity(pid);
		if (activity) found.push(activity);
		queue.push(...listChildren(pid));
	}
	return found;
}
