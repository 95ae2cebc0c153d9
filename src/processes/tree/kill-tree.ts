// Linux only, apart from the signal to the process group: on other systems no descendants or orphans are found.
import {setTimeout} from 'node:timers/promises';
import {
	isCertainlyAlone,
	isHalted,
	isStillAlive,
	listDescendants,
	listSessionMembers,
	type ProcessInfo,
	readProcessInfo,
} from './process-tree.js';
import {signalGroup, signalProcess} from './signals.js';
import {findOrphansOf, findUnclaimedOrphans, isSubreaper, listOrphans, type ProcessRoot} from './subreaper.js';

/** Longest time for stopping a tree before it is killed as it is. */
export const MAX_FREEZE_MS = 500;
/** How much of it may be spent on the event loop at once, and the time for others in between. */
const MAX_TURN_MS = 10;
const PAUSE_MS = 5;

/**
 * Kills the process group that `leader` leads and every descendant that left the group. Returns the strays, whose end is
 * not certain: the kernel kills a group atomically, but strays are killed one by one and may have forked once more, and
 * a process of another user may not be ours to kill.
 */
export function killTree(leader: ProcessRoot, maxFreezeMs = MAX_FREEZE_MS): ProcessInfo[] {
	const freeze = beginFreeze(leader);
	freeze?.run(maxFreezeMs);
	return finishKill(leader, freeze);
}

/**
 * The same, without blocking the event loop for long where processes take their time to stop, because others have the
 * processor, or because they wait for a child. Not for a program that is about to exit.
 */
export function killTreeInTurns(leader: ProcessRoot): ProcessInfo[] | Promise<ProcessInfo[]> {
	const freeze = beginFreeze(leader);
	return !freeze || freeze.run(MAX_TURN_MS) ? finishKill(leader, freeze) : killLater(leader, freeze);
}

async function killLater(leader: ProcessRoot, freeze: TreeFreeze): Promise<ProcessInfo[]> {
	const deadline = performance.now() + MAX_FREEZE_MS;
	do await setTimeout(PAUSE_MS);
	while (!freeze.run(MAX_TURN_MS) && performance.now() < deadline);
	// Others may have ended it meanwhile, and its ids may be those of other processes.
	const living = freeze.members.filter(isStillAlive);
	if (living.some(({pid}) => pid === leader.pid)) signalGroup(leader.pid, 'SIGKILL');
	for (const {pid} of living) signalProcess(pid, 'SIGKILL');
	return living.filter(member => isStray(leader, member));
}

/** Undefined for a tree that a signal to the group of the leader kills whole. */
function beginFreeze(leader: ProcessRoot): TreeFreeze | undefined {
	const tree = isCertainlyAlone(leader.pid) ? findOrphanTrees(leader) : listTree(leader);
	return tree.some(each => isStray(leader, each)) ? new TreeFreeze(leader, tree) : undefined;
}

function finishKill(leader: ProcessRoot, freeze: TreeFreeze | undefined): ProcessInfo[] {
	// A child of the fallback backend leads its group only some time after its start.
	if (!signalGroup(leader.pid, 'SIGKILL') && isOwnChild(leader)) signalProcess(leader.pid, 'SIGKILL');
	const strays = (freeze?.members ?? []).filter(member => isStray(leader, member));
	for (const stray of strays) signalProcess(stray.pid, 'SIGKILL');
	return strays;
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

/** The id of a process that is gone may be that of another one. */
function isOwnChild({pid}: ProcessRoot): boolean {
	return readProcessInfo(pid)?.parentPid === process.pid;
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

/** Descendants of a process that has not been reaped yet, its orphans included. */
export function listTreeBelow(leader: ProcessRoot): ProcessInfo[] {
	return [...listDescendants(leader.pid), ...findOrphanTrees(leader)];
}

/** Orphans of a process with their descendants, whether the process is still alive or not. */
export function findOrphanTrees(leader: ProcessRoot): ProcessInfo[] {
	return findOrphansOf([leader]).flatMap(orphan => [orphan, ...listDescendants(orphan.pid)]);
}

/**
 * Stops the tree with SIGSTOP, so that no member forks while the tree is listed. A process that is in the middle of a
 * fork stops only after it: a listing is complete when all members had stopped before it began.
 */
class TreeFreeze {
	readonly #leader: ProcessRoot;
	readonly #members = new Map<number, ProcessInfo>();
	#found: readonly ProcessInfo[] | undefined;
	#hadHalted = false;

	constructor(leader: ProcessRoot, tree: readonly ProcessInfo[]) {
		this.#leader = leader;
		this.#found = tree;
		signalGroup(leader.pid, 'SIGSTOP');
	}

	get members(): ProcessInfo[] {
		return [...this.#members.values()];
	}

	/** True once the listing is complete, false if that takes longer. */
	run(maxMs: number): boolean {
		const deadline = performance.now() + maxMs;
		for (;;) {
			const hasNew = this.#stopNew();
			if (!hasNew && this.#hadHalted) return true;
			if (performance.now() > deadline) return false;
			this.#hadHalted = this.members.every(each => isHalted(each.pid) || !isOwnUser(each));
		}
	}

	#stopNew(): boolean {
		const leader = this.#leader;
		const found = this.#found ?? listTree(leader);
		this.#found = undefined;
		// A known member that has left the group since counts as new: the signal to the group has not stopped it.
		const added = found.filter(each => {
			const known = this.#members.get(each.pid);
			return !known || (isStray(leader, each) && !isStray(leader, known));
		});
		for (const member of added) {
			this.#members.set(member.pid, member);
			if (isStray(leader, member)) signalProcess(member.pid, 'SIGSTOP');
		}
		return added.length > 0;
	}
}
