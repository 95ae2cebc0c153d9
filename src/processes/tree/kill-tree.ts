// Linux only, apart from the signal to the process group: on other systems no descendants or orphans are found.
import {setTimeout} from 'node:timers/promises';
import {OrphanScan} from './orphan-scan.js';
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
import {
	findOrphans,
	findOrphansOf,
	isOrphanOf,
	isSubreaper,
	type Orphan,
	type OrphanFilter,
	type ProcessRoot,
} from './subreaper.js';
import {listTaggedOrphans, refreshTaggedOrphans} from './tagged-orphans.js';

/** Longest time for stopping a tree before it is killed as it is. */
export const MAX_FREEZE_MS = 500;
/** How much of it may be spent on the event loop at once, and the time for others in between. */
export const MAX_TURN_MS = 10;
const PAUSE_MS = 5;
/** Looks at all processes in a row for orphans that were not adopted, as long as each shows new ones. */
const MAX_LOOKS = 20;

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
	const orphans = isSubreaper() ? findOrphanTrees(leader) : listTaggedOrphans([leader]);
	const tree = [...(isCertainlyAlone(leader.pid) ? [] : listTree(leader)), ...orphans];
	// An orphan that has just exited may have started another one.
	const isChanging = findOrphans(isOrphanOf([leader])).some(({isDead}) => isDead);
	return isChanging || tree.some(each => isStray(leader, each)) ? new TreeFreeze(leader) : undefined;
}

function finishKill(leader: ProcessRoot, freeze: TreeFreeze | undefined): ProcessInfo[] {
	// A child of the fallback backend leads its group only some time after its start.
	if (!signalGroup(leader.pid, 'SIGKILL') && isOwnChild(leader)) signalProcess(leader.pid, 'SIGKILL');
	const strays = (freeze?.members ?? []).filter(member => isStray(leader, member));
	for (const stray of strays) signalProcess(stray.pid, 'SIGKILL');
	return strays;
}

/** Sends SIGTERM to the orphans of an exited process and to their descendants. Returns false if there are none. */
export function askOrphansOf(leader: ProcessRoot, {outsideGroup = false} = {}): boolean {
	const orphans = isSubreaper() ? findOrphanTrees(leader) : findUnadoptedOrphans([leader]);
	const asked = orphans.filter(({groupId}) => !outsideGroup || groupId !== leader.pid);
	for (const each of asked) signalProcess(each.pid, 'SIGTERM');
	return asked.length > 0;
}

/** The leaders that have living orphans. */
export function filterLeadersWithOrphans(leaders: readonly ProcessRoot[]): ProcessRoot[] {
	if (isSubreaper()) return leaders.filter(leader => findOrphansOf([leader]).length > 0);
	const sessions = new Set(listSessionMembers(new Set(leaders.map(({pid}) => pid))).map(({sessionId}) => sessionId));
	return leaders.filter(leader => sessions.has(leader.pid) || listTaggedOrphans([leader]).length > 0);
}

/** Orphans of these leaders where this program is not a subreaper, with their descendants. */
function findUnadoptedOrphans(leaders: readonly ProcessRoot[]): ProcessInfo[] {
	const found = [...findSessionOrphans(leaders), ...listTaggedOrphans(leaders)];
	return [...new Map(found.map(each => [each.pid, each])).values()];
}

/** Kills the orphans of these leaders where this program is not a subreaper. All are stopped first, so that none forks. */
export function killUnadoptedOrphans(leaders: readonly ProcessRoot[]): ProcessInfo[] {
	const stopped = new Map<number, ProcessInfo>();
	for (let looks = 0; looks < MAX_LOOKS; looks++) {
		refreshTaggedOrphans();
		const added = findUnadoptedOrphans(leaders).filter(({pid}) => !stopped.has(pid));
		if (added.length === 0) break;
		for (const each of added) {
			signalProcess(each.pid, 'SIGSTOP');
			stopped.set(each.pid, each);
		}
	}
	for (const pid of stopped.keys()) signalProcess(pid, 'SIGKILL');
	return [...stopped.values()];
}

/** Orphans that stayed in the session of their leader, with their descendants. */
function findSessionOrphans(leaders: readonly ProcessRoot[]): ProcessInfo[] {
	if (leaders.length === 0) return [];
	return listSessionMembers(new Set(leaders.map(({pid}) => pid))).flatMap(member => [
		member,
		...listDescendants(member.pid),
	]);
}

/** An orphan that was killed, and all that was killed with it. */
export interface KilledOrphan {
	readonly orphan: Orphan;
	readonly members: readonly ProcessInfo[];
}

/** Kills orphans with their descendants until no more turn up, or the time is over. */
export function killOrphanTrees(isWanted: OrphanFilter, maxMs: number): KilledOrphan[] {
	const deadline = performance.now() + maxMs;
	const scan = new OrphanScan(isWanted);
	const killed: KilledOrphan[] = [];
	for (;;) {
		const {found, hasNew} = scan.next(deadline);
		for (const orphan of found) {
			const members = [orphan, ...stopBelow(orphan.pid)];
			for (const {pid} of members) signalProcess(pid, 'SIGKILL');
			killed.push({orphan, members});
		}
		if (!hasNew || performance.now() > deadline) return killed;
	}
}

function stopBelow(pid: number): ProcessInfo[] {
	return listDescendants(pid, each => signalProcess(each, 'SIGSTOP'));
}

function withDescendants(root: ProcessInfo): ProcessInfo[] {
	return [root, ...listDescendants(root.pid)];
}

/** The id of a process that is gone may be that of another one. */
function isOwnChild({pid}: ProcessRoot): boolean {
	return readProcessInfo(pid)?.parentPid === process.pid;
}

/** True when a signal to the group of the leader does not kill this member. */
function isStray(leader: ProcessRoot, member: ProcessInfo): boolean {
	return member.groupId !== leader.pid || !isOwnUser(member);
}

/** Without orphans. */
function listTree(leader: ProcessRoot): ProcessInfo[] {
	const root = readProcessInfo(leader.pid);
	return [...(root ? [root] : []), ...listDescendants(leader.pid)];
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
	return findOrphansOf([leader]).flatMap(withDescendants);
}

/**
 * Stops the tree with SIGSTOP, so that no member forks while the tree is listed. A process that is in the middle of a
 * fork stops only after it: a listing is complete when all members had stopped before it began.
 */
class TreeFreeze {
	readonly #leader: ProcessRoot;
	readonly #members = new Map<number, ProcessInfo>();
	readonly #scan: OrphanScan | undefined;
	readonly #orphans: Orphan[] = [];
	#hadHalted = false;

	constructor(leader: ProcessRoot) {
		this.#leader = leader;
		if (isSubreaper()) this.#scan = new OrphanScan(isOrphanOf([leader]));
		signalGroup(leader.pid, 'SIGSTOP');
	}

	get members(): ProcessInfo[] {
		return [...this.#members.values()];
	}

	/** True once the listing is complete, false if that takes longer. */
	run(maxMs: number): boolean {
		const deadline = performance.now() + maxMs;
		this.#scan?.beginTurn();
		for (;;) {
			const hasNew = this.#stopNew(deadline);
			if (!hasNew && this.#hadHalted) return true;
			if (performance.now() > deadline) return false;
			this.#hadHalted = this.members.every(each => isHalted(each.pid) || !isOwnUser(each));
		}
	}

	#stopNew(deadline: number): boolean {
		const leader = this.#leader;
		// Orphans come last: a process whose parent ends meanwhile becomes one.
		const root = readProcessInfo(leader.pid);
		const found = [...(root ? [root] : []), ...stopBelow(leader.pid)];
		const scanned = this.#scan?.next(deadline);
		if (!this.#scan) found.push(...this.#listTaggedOrphans());
		this.#orphans.push(...(scanned?.found ?? []));
		found.push(...this.#orphans.flatMap(orphan => [orphan, ...stopBelow(orphan.pid)]));
		// A known member that has left the group since counts as new: the signal to the group has not stopped it.
		const added = found.filter(each => {
			const known = this.#members.get(each.pid);
			return !known || (isStray(leader, each) && !isStray(leader, known));
		});
		for (const member of added) {
			this.#members.set(member.pid, member);
			if (isStray(leader, member)) signalProcess(member.pid, 'SIGSTOP');
		}
		return added.length > 0 || scanned?.hasNew === true;
	}

	#listTaggedOrphans(): ProcessInfo[] {
		refreshTaggedOrphans();
		return listTaggedOrphans([this.#leader]);
	}
}
