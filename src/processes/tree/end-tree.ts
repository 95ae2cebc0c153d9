import {setTimeout} from 'node:timers/promises';
import {killOrphanTrees, killTree, killTreeInTurns, killUnadoptedOrphans, MAX_TURN_MS} from './kill-tree.js';
import {NewestPid} from './proc.js';
import type {ProcessInfo} from './process-tree.js';
import {
	findOrphans,
	isOrphanOf,
	isSubreaper,
	isUnclaimedOrphan,
	type OrphanFilter,
	type ProcessRoot,
	refreshOrphans,
} from './subreaper.js';
import {waitForOrphans, waitForSurvivors} from './wait-for-survivors.js';

/** Attempts to end orphans, of half a second and more each, before those that are left are taken for unkillable. */
const MAX_ATTEMPTS = 500;
/** Attempts in a row that have left none: a list of children may lack entries while others exit. */
const CALM_ATTEMPTS = 3;
/** Pause between two attempts. */
const RETRY_MS = 100;

type Survivors = readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>;

/**
 * Kills a process with all its descendants; those that are left, at once if that is certain. With `withinMs` they are killed
 * in this turn of the event loop, which that may block for so long.
 */
export function endTree(leader: ProcessRoot, withinMs: number | undefined): Survivors {
	using newest = new NewestPid();
	const before = newest.read();
	const strays = withinMs === undefined ? killTreeInTurns(leader) : killTree(leader, withinMs);
	return Array.isArray(strays)
		? findSurvivors(leader, strays, before === newest.read())
		: strays.then(each => findSurvivors(leader, each, false));
}

/** A member may have forked between the listing of its tree and its end, unless nobody has. */
function findSurvivors(leader: ProcessRoot, strays: readonly ProcessInfo[], hasNobodyForked: boolean): Survivors {
	const survivors = waitForSurvivors(leader, strays);
	const isCertain = hasNobodyForked && strays.length === 0 && findOrphans(isUnclaimedOrphan(leader)).length === 0;
	return isCertain ? [] : survivors;
}

/**
 * Kills the orphans of these leaders with all their descendants. Without a subreaper orphans are found by their session and
 * by their tag, unless they have changed both.
 */
export function endOrphansOf(leaders: readonly ProcessRoot[]): Survivors {
	if (isSubreaper()) return endOrphans(isOrphanOf(leaders));
	const killed = killUnadoptedOrphans(leaders);
	return killed.length > 0 ? waitForOrphans(() => false, killed) : [];
}

/**
 * Kills the orphans of these leaders, again and again while some are left: for an end whose survivors are reported to
 * nobody. A machine that is short of processor time may need several attempts for processes that fork and exit all the time.
 * Without a subreaper there is one attempt: later, the id of a session may be that of another one.
 */
export async function endOrphansUntilGone(leaders: readonly ProcessRoot[]): Promise<void> {
	const maxAttempts = isSubreaper() ? MAX_ATTEMPTS : 1;
	let calm = 0;
	for (let attempt = 1; attempt <= maxAttempts && calm < CALM_ATTEMPTS; attempt++) {
		if (attempt > 1) await setTimeout(RETRY_MS, undefined, {ref: false});
		refreshOrphans();
		calm = (await endOrphansOf(leaders)).length === 0 ? calm + 1 : 0;
	}
}

/** Kills the orphans that cannot be attributed to a process started here, while `isAllowed` returns true. */
export function endUnclaimedOrphans(isAllowed: () => boolean): void {
	const isUnclaimed = isUnclaimedOrphan();
	if (isAllowed()) void endOrphans(orphan => isAllowed() && isUnclaimed(orphan));
}

/** Kills every orphan this process has adopted. */
export function endAllOrphans(): Survivors {
	return endOrphans(() => true);
}

/**
 * Kills the orphans that are accepted with all their descendants, most of them in this turn of the event loop. Settles with
 * those that are left.
 */
function endOrphans(isWanted: OrphanFilter): Survivors {
	if (findOrphans(isWanted).length === 0) return [];
	const killed = killOrphanTrees(isWanted, MAX_TURN_MS);
	refreshOrphans();
	return waitForOrphans(
		isWanted,
		killed.flatMap(({members}) => members),
	);
}
