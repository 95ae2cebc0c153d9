import {killTree, killTreeInTurns} from './kill-tree.js';
import type {ProcessInfo} from './process-tree.js';
import {findUnclaimedOrphans, type ProcessRoot} from './subreaper.js';
import {waitForSurvivors} from './wait-for-survivors.js';

type Survivors = readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>;

/**
 * Kills a process with all its descendants; those that are left, at once if that is certain. With `withinMs` they are killed
 * in this turn of the event loop, which that may block for so long.
 */
export function endTree(leader: ProcessRoot, withinMs: number | undefined): Survivors {
	const strays = withinMs === undefined ? killTreeInTurns(leader) : killTree(leader, withinMs);
	return Array.isArray(strays) ? findSurvivors(leader, strays) : strays.then(each => findSurvivors(leader, each));
}

function findSurvivors(leader: ProcessRoot, strays: readonly ProcessInfo[]): Survivors {
	const survivors = waitForSurvivors(leader, strays);
	const isCertain = strays.length === 0 && findUnclaimedOrphans(leader).length === 0;
	return isCertain ? [] : survivors;
}
