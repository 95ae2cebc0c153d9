// Linux only, apart from the signal to the process group: on other systems no descendants or orphans are found.
import {
	isHalted,
	isStillAlive,
	listDescendants,
	listSessionMembers,
	type ProcessInfo,
	readProcessInfo,
} from './process-tree.js';
import {signalGroup, signalProcess} from './signals.js';
import {findOrphansOf, findUnclaimedOrphans, isSubreaper, listOrphans, type ProcessRoot} from './subreaper.js';

/** Longest time for stopping a tree before it is killed as it is. Blocks the event loop. */
const MAX_FREEZE_MS = 500;
/**
 * Polls for a killed process before it is reported as a survivor: half a second, and more on a stalled machine, because
 * polls are counted and not time.
 */
const MAX_POLLS = 50;
const POLL_INTERVAL_MS = 10;

/**
 * Kills the process group that `leader` leads and every descendant that left the group. Returns the strays, whose end is
 * not certain: the kernel kills a group atomically, but strays are killed one by one and may have forked once more, and
 * a process of another user may not be ours to kill.
 */
export function killTree(leader: ProcessRoot, maxFreezeMs = MAX_FREEZE_MS): ProcessInfo[] {
	const tree = listTree(leader);
	const strays = tree.some(each => isStray(leader, each)) ? freezeTree(leader, tree, maxFreezeMs) : [];
	signalGroup(leader.pid, 'SIGKILL');
	for (const stray of strays) signalProcess(stray.pid, 'SIGKILL');
	return strays;
}

/**
 * Polls until all strays are dead and returns the survivors. A process that left the tree at the moment of the kill shows
 * up as an orphan once the group is gone, and is killed then. Orphans that may have come from the tree or from another one
 * are survivors: they are not killed, because they may belong to another session.
 */
export async function waitForSurvivors(leader: ProcessRoot, strays: readonly ProcessInfo[]): Promise<ProcessInfo[]> {
	const killed = new Map(strays.map(stray => [stray.pid, stray]));
	// The kernel may omit entries from a list of children while others exit: the last poll has to follow a quiet one.
	for (let poll = 0, wasQuiet = false; ; poll++) {
		const isComplete = !mayOrphanMore(leader);
		for (const late of findOrphanTrees(leader)) {
			killed.set(late.pid, late);
			signalProcess(late.pid, 'SIGKILL');
		}
		const living = [...killed.values()].filter(isStillAlive);
		if (wasQuiet && living.length === 0) return findUnclaimedOrphans(leader);
		wasQuiet = isComplete && living.length === 0;
		if (poll === MAX_POLLS) return [...living, ...findUnclaimedOrphans(leader)];
		await new Promise(resolve => setTimeout(resolve, POLL_INTERVAL_MS));
	}
}

/**
 * Kills the orphans of these leaders with all their descendants. Without a subreaper only orphans that stayed in the
 * session of their leader are found.
 */
export function killOrphansOf(leaders: Iterable<ProcessRoot>): void {
	const all = [...leaders];
	const orphans = isSubreaper() ? all.flatMap(findOrphanTrees) : findSessionOrphans(all);
	for (const each of orphans) signalProcess(each.pid, 'SIGKILL');
}

/** The leaders that have living orphans. */
export function filterLeadersWithOrphans(leaders: readonly ProcessRoot[]): ProcessRoot[] {
	if (isSubreaper()) return leaders.filter(leader => findOrphansOf([leader]).length > 0);
	const sessions = new Set(listSessionMembers(new Set(leaders.map(({pid}) => pid))).map(({sessionId}) => sessionId));
	return leaders.filter(({pid}) => sessions.has(pid));
}

function findSessionOrphans(leaders: readonly ProcessRoot[]): ProcessInfo[] {
	if (leaders.length === 0) return [];
	return listSessionMembers(new Set(leaders.map(({pid}) => pid))).flatMap(member => [
		member,
		...listDescendants(member.pid),
	]);
}

/** Kills every orphan this process has adopted. */
export function killAllOrphans(): void {
	killWithDescendants(listOrphans());
}

/** Kills the orphans that cannot be attributed to a process started here. */
export function killUnclaimedOrphans(): void {
	killWithDescendants(findUnclaimedOrphans());
}

function killWithDescendants(orphans: readonly ProcessInfo[]): void {
	for (const orphan of orphans) {
		for (const each of [orphan, ...listDescendants(orphan.pid)]) signalProcess(each.pid, 'SIGKILL');
	}
}

/** True when a signal to the group of the leader does not kill this member. */
function isStray(leader: ProcessRoot, member: ProcessInfo): boolean {
	return member.groupId !== leader.pid || !isOwnUser(member);
}

function listTree(leader: ProcessRoot): ProcessInfo[] {
	const root = readProcessInfo(leader.pid);
	return [...(root ? [root] : []), ...listTreeBelow(leader)];
}

function isOwnUser({userId}: ProcessInfo): boolean {
	return userId === process.geteuid?.();
}

/** While the group has members, zombies included, their children may still be reparented to this process. */
function mayOrphanMore({pid}: ProcessRoot): boolean {
	return isSubreaper() && signalGroup(pid, 0);
}

/** Descendants of a process that has not been reaped yet, its orphans included. */
export function listTreeBelow(leader: ProcessRoot): ProcessInfo[] {
	return [...listDescendants(leader.pid), ...findOrphanTrees(leader)];
}

/** Orphans of a process with their descendants, whether the process is still alive or not. */
export function findOrphanTrees(leader: ProcessRoot): ProcessInfo[] {
	return findOrphansOf([leader]).flatMap(orphan => [orphan, ...listDescendants(orphan.pid)]);
}

/**
 * Stops the tree with SIGSTOP, so that no member forks while the tree is listed, and returns its strays. A process that
 * is in the middle of a fork stops only after it: a listing is complete when all members had stopped before it began.
 */
function freezeTree(leader: ProcessRoot, tree: readonly ProcessInfo[], maxFreezeMs: number): ProcessInfo[] {
	const deadline = performance.now() + maxFreezeMs;
	const members = new Map<number, ProcessInfo>();
	signalGroup(leader.pid, 'SIGSTOP');
	let hadHalted = false;
	for (let found = tree; ; found = listTree(leader)) {
		// A known member that has left the group since counts as new: the signal to the group has not stopped it.
		const added = found.filter(each => {
			const known = members.get(each.pid);
			return !known || (isStray(leader, each) && !isStray(leader, known));
		});
		for (const member of added) {
			members.set(member.pid, member);
			if (isStray(leader, member)) signalProcess(member.pid, 'SIGSTOP');
		}
		if ((added.length === 0 && hadHalted) || performance.now() > deadline) break;
		hadHalted = [...members.values()].every(each => isHalted(each.pid) || !isOwnUser(each));
	}
	return [...members.values()].filter(member => isStray(leader, member));
}
