// Linux only, apart from the wait itself: on other systems no orphans are found.
import {findOrphanTrees} from './kill-tree.js';
import {isStillAlive, type ProcessInfo} from './process-tree.js';
import {hasGroup, signalProcess} from './signals.js';
import {findUnclaimedOrphans, isOwnChild, isSubreaper, type ProcessRoot} from './subreaper.js';

/**
 * Polls for a killed process before it is reported as a survivor: half a second, and more on a stalled machine, because
 * polls are counted and not time.
 */
const MAX_POLLS = 50;
const POLL_INTERVAL_MS = 10;

/** A tree that was killed. */
interface KilledTree {
	readonly leader: ProcessRoot;
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
	const killed = new Map(strays.map(stray => [stray.pid, stray]));
	return new Promise(done => {
		waiting.add({leader, killed, done, polls: 0, isGroupGone: false, wasQuiet: false});
		timer ??= setInterval(poll, POLL_INTERVAL_MS);
	});
}

function poll(): void {
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

/** Undefined while the end is not certain. */
function pollTree(tree: KilledTree): ProcessInfo[] | undefined {
	const {leader, killed} = tree;
	// Before the orphans are listed: the last member may hand over its children in between.
	tree.isGroupGone ||= !mayOrphanMore(leader);
	for (const late of findOrphanTrees(leader)) {
		killed.set(late.pid, late);
		signalProcess(late.pid, 'SIGKILL');
	}
	const living = [...killed.values()].filter(isStillAlive);
	// The kernel may omit entries from a list of children while others exit: the last poll has to follow a quiet one.
	if (tree.wasQuiet && living.length === 0) return findUnclaimedOrphans(leader);
	tree.wasQuiet = tree.isGroupGone && living.length === 0;
	if (tree.polls++ === MAX_POLLS) return [...living, ...findUnclaimedOrphans(leader)];
	return undefined;
}

/** While the group has members, zombies included, their children may still be reparented to this process. */
function mayOrphanMore({pid}: ProcessRoot): boolean {
	// A child that is not reaped yet needs no look.
	return isSubreaper() && (isOwnChild(pid) || hasGroup(pid));
}
