// Linux only, apart from the wait itself: on other systems no orphans are found.
import {killOrphanTrees, MAX_TURN_MS} from './kill-tree.js';
import {isStillAlive, type ProcessInfo} from './process-tree.js';
import {hasGroup} from './signals.js';
import {
	findOrphans,
	isOrphanOf,
	isOwnChild,
	isSubreaper,
	isUnclaimedOrphan,
	type OrphanFilter,
	type ProcessRoot,
	refreshOrphans,
} from './subreaper.js';

/**
 * Polls for a killed process before it is reported as a survivor: half a second, and more on a stalled machine, because
 * polls are counted and not time.
 */
const MAX_POLLS = 50;
const POLL_INTERVAL_MS = 10;

/** A tree that was killed, or orphans that were. */
interface KilledTree {
	/** Undefined if it has none that runs. */
	readonly leader: ProcessRoot | undefined;
	readonly isMember: OrphanFilter;
	/** Accepts orphans that may be members, and are not killed for that reason. */
	readonly isPossibleMember: OrphanFilter;
	readonly killed: Map<number, ProcessInfo>;
	/** Settles the wait. */
	readonly done: (survivors: ProcessInfo[]) => void;
	polls: number;
	/** No member of the group is left whose children could become orphans. */
	isGroupGone: boolean;
	/** Nothing was alive at the last poll. */
	wasQuiet: boolean;
}

const waiting = new Set<KilledTree>();
let timer: NodeJS.Timeout | undefined;

/**
 * Polls until all strays are dead and returns the survivors. A process that left the tree at the moment of the kill shows
 * up as an orphan once the group is gone, and is killed then. Orphans that may have come from the tree or from another one
 * are survivors: they are not killed, because they may belong to another session.
 *
 * One poll looks after all trees: the children of this process are listed once for the thousand that are ended together.
 */
export function waitForSurvivors(leader: ProcessRoot, strays: readonly ProcessInfo[]): Promise<ProcessInfo[]> {
	return wait({leader, isMember: isOrphanOf([leader]), isPossibleMember: isUnclaimedOrphan(leader)}, strays);
}

/** Polls until the orphans that are accepted are dead, and returns the survivors. */
export function waitForOrphans(isMember: OrphanFilter, killed: readonly ProcessInfo[]): Promise<ProcessInfo[]> {
	return wait({leader: undefined, isMember, isPossibleMember: () => false}, killed);
}

function wait(
	tree: Pick<KilledTree, 'leader' | 'isMember' | 'isPossibleMember'>,
	killed: readonly ProcessInfo[],
): Promise<ProcessInfo[]> {
	return new Promise(done => {
		waiting.add({
			...tree,
			killed: new Map(killed.map(each => [each.pid, each])),
			done,
			polls: 0,
			isGroupGone: false,
			wasQuiet: false,
		});
		timer ??= setInterval(poll, POLL_INTERVAL_MS);
	});
}

function poll(): void {
	// Before the orphans are listed: the last member of a group may hand over its children in between.
	for (const tree of waiting) tree.isGroupGone ||= !mayOrphanMore(tree);
	refreshOrphans();
	killLateOrphans();
	for (const tree of waiting) {
		const survivors = pollTree(tree);
		if (!survivors) continue;
		waiting.delete(tree);
		tree.done(survivors);
	}
	if (waiting.size > 0) return;
	clearInterval(timer);
	timer = undefined;
}

/** Takes one turn of the event loop for all trees, however many of them still grow. */
function killLateOrphans(): void {
	const growing = [...waiting].filter(({isMember}) => findOrphans(isMember).length > 0);
	if (growing.length === 0) return;
	for (const {orphan, members} of killOrphanTrees(each => growing.some(({isMember}) => isMember(each)), MAX_TURN_MS)) {
		for (const tree of growing) if (tree.isMember(orphan)) for (const each of members) tree.killed.set(each.pid, each);
	}
	refreshOrphans();
}

/** Undefined while the end is not certain. */
function pollTree(tree: KilledTree): ProcessInfo[] | undefined {
	const killed = [...tree.killed.values()].filter(isStillAlive);
	const possible = findOrphans(tree.isPossibleMember);
	// One that has exited and is not reaped yet may have started another one.
	const changing = [...findOrphans(tree.isMember), ...possible.filter(({isDead}) => isDead)];
	const living = [...killed, ...possible.filter(({isDead}) => !isDead)];
	const isQuiet = tree.isGroupGone && killed.length === 0 && changing.length === 0;
	// The kernel may omit entries from a list of children while others exit: the last poll has to follow a quiet one.
	if (tree.wasQuiet && isQuiet) return living;
	tree.wasQuiet = isQuiet;
	if (tree.polls++ < MAX_POLLS) return undefined;
	// The last one stands for a chain of processes that could not be ended.
	return living.length > 0 ? living : changing.slice(-1);
}

/** While the group has members, zombies included, their children may still be reparented to this process. */
function mayOrphanMore({leader}: KilledTree): boolean {
	// A child that is not reaped yet needs no look.
	return leader !== undefined && isSubreaper() && (isOwnChild(leader.pid) || hasGroup(leader.pid));
}
