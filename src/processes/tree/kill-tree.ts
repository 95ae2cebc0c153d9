import {descendantsOf, isHalted, membersOf, type ProcessInfo, processInfo, stillLives} from './process-tree.js';
import {signalGroup, signalProcess} from './signals.js';
import {isSubreaper, listOrphans, orphansOf, type ProcessRoot} from './subreaper.js';

/** Longest time for stopping a tree and looking again before it is killed as it is; nothing else runs meanwhile. */
const MAX_FREEZE_MS = 500;
/**
 * Looks for a killed process before it is reported as a survivor: half a second, and more where the machine itself stands
 * still, which is no time for anything to disappear in.
 */
const MAX_LOOKS = 50;
const LOOK_AGAIN_MS = 10;

/**
 * Kills the group that `leader` leads and everything below it that left the group. Returns those whose end is not sure:
 * the kernel ends a group as one, but who left it was ended one by one and may have escaped once more, and another
 * user's process may not be ours to end.
 */
export function killTree(leader: ProcessRoot, maxFreezeMs = MAX_FREEZE_MS): ProcessInfo[] {
	const tree = membersOfTree(leader);
	const strays = tree.some(each => isStray(leader, each)) ? freeze(leader, tree, maxFreezeMs) : [];
	signalGroup(leader.pid, 'SIGKILL');
	for (const stray of strays) signalProcess(stray.pid, 'SIGKILL');
	return strays;
}

/**
 * Those that still live when they should be gone. Who left the tree in the very moment it was killed comes to light as
 * an orphan once the group is gone, and is killed then.
 */
export async function survivorsOf(leader: ProcessRoot, strays: readonly ProcessInfo[]): Promise<ProcessInfo[]> {
	const killed = new Map(strays.map(stray => [stray.pid, stray]));
	// The kernel may leave some out of its list of children while others of them are dying: the last look has to be a calm one.
	for (let look = 0, calm = false; ; look++) {
		const complete = !moreMayCome(leader);
		for (const late of findLeftBehind(leader)) {
			killed.set(late.pid, late);
			signalProcess(late.pid, 'SIGKILL');
		}
		const living = [...killed.values()].filter(stillLives);
		if (calm && living.length === 0) return [];
		calm = complete && living.length === 0;
		if (look === MAX_LOOKS) return living;
		await new Promise(resolve => setTimeout(resolve, LOOK_AGAIN_MS));
	}
}

/**
 * Kills the orphans these leaders left behind, and what is below them. A program that is not handed its orphans finds
 * only those that stayed in the session of their leader, and those below them.
 */
export function killOrphansOf(leaders: Iterable<ProcessRoot>): void {
	const all = [...leaders];
	const orphans = isSubreaper() ? all.flatMap(findLeftBehind) : leftInSessionsOf(all);
	for (const each of orphans) signalProcess(each.pid, 'SIGKILL');
}

/** Those of them that left somebody behind who still lives. */
export function leadersOfOrphans(leaders: readonly ProcessRoot[]): ProcessRoot[] {
	if (isSubreaper()) return leaders.filter(leader => orphansOf([leader]).length > 0);
	const sessions = new Set(membersOf(new Set(leaders.map(({pid}) => pid))).map(({sessionId}) => sessionId));
	return leaders.filter(({pid}) => sessions.has(pid));
}

function leftInSessionsOf(leaders: readonly ProcessRoot[]): ProcessInfo[] {
	if (leaders.length === 0) return [];
	return membersOf(new Set(leaders.map(({pid}) => pid))).flatMap(member => [member, ...descendantsOf(member.pid)]);
}

/** Kills every orphan this program was handed. */
export function killAllOrphans(): void {
	for (const orphan of listOrphans()) {
		for (const each of [orphan, ...descendantsOf(orphan.pid)]) signalProcess(each.pid, 'SIGKILL');
	}
}

/** Whether a signal to the group of the leader does not end it. */
function isStray(leader: ProcessRoot, member: ProcessInfo): boolean {
	return member.groupId !== leader.pid || !isOurs(member);
}

function membersOfTree(leader: ProcessRoot): ProcessInfo[] {
	const top = processInfo(leader.pid);
	return [...(top ? [top] : []), ...treeBelow(leader)];
}

function isOurs({userId}: ProcessInfo): boolean {
	return userId === process.geteuid?.();
}

/** As long as the group has members, dead ones that were not reaped yet included, they may leave us orphans. */
function moreMayCome({pid}: ProcessRoot): boolean {
	return isSubreaper() && signalGroup(pid, 0);
}

/** Everything that comes from a process that has not been reaped yet: below it, or orphaned. */
export function treeBelow(leader: ProcessRoot): ProcessInfo[] {
	return [...descendantsOf(leader.pid), ...findLeftBehind(leader)];
}

/** What a process orphaned, whether it still lives or not. */
export function findLeftBehind(leader: ProcessRoot): ProcessInfo[] {
	return orphansOf([leader]).flatMap(orphan => [orphan, ...descendantsOf(orphan.pid)]);
}

/**
 * Stops the tree, so that nothing in it starts another process while it is being counted, and returns its strays. A
 * process that is in the middle of a fork when the signal comes stops only behind it: the count is complete when all
 * had halted before it began.
 */
function freeze(leader: ProcessRoot, tree: readonly ProcessInfo[], maxFreezeMs: number): ProcessInfo[] {
	const deadline = performance.now() + maxFreezeMs;
	const members = new Map<number, ProcessInfo>();
	signalGroup(leader.pid, 'SIGSTOP');
	let hadHalted = false;
	for (let found = tree; ; found = membersOfTree(leader)) {
		// One that left the group before the group was stopped is as new as one that was not there.
		const added = found.filter(each => {
			const known = members.get(each.pid);
			return !known || (isStray(leader, each) && !isStray(leader, known));
		});
		for (const member of added) {
			members.set(member.pid, member);
			if (isStray(leader, member)) signalProcess(member.pid, 'SIGSTOP');
		}
		if ((added.length === 0 && hadHalted) || performance.now() > deadline) break;
		hadHalted = [...members.values()].every(each => isHalted(each.pid) || !isOurs(each));
	}
	return [...members.values()].filter(member => isStray(leader, member));
}
