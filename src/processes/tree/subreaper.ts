import {currentTurn} from '../backends/event-loop-tick.js';
import {markOf} from '../backends/linux/descendant-tags.js';
import {childrenOf, type ProcessInfo, processInfo} from './process-tree.js';

/** A process that was started here, by what its descendants can be recognised. */
export interface Leader {
	readonly pid: number;
	/** Inherited by everything below it. */
	readonly mark: string | undefined;
}

/**
 * A program that adopts orphans is handed, by the kernel, every process below it whose parent has died. Whether it does
 * is a fact about the whole program, and so is this state.
 */
let adopting = false;
const ownPids = new Set<number>();
let cached: {turn: number; found: Orphan[]} | undefined;

type Orphan = ProcessInfo & {readonly mark: string | undefined};

export function startAdopting(): void {
	adopting = true;
}

export function adopts(): boolean {
	return adopting;
}

/** A child that was started here and is no orphan. */
export function registerOwn(pid: number): void {
	ownPids.add(pid);
}

export function unregisterOwn(pid: number): void {
	ownPids.delete(pid);
}

/** The living orphans that were handed to this program; empty unless it adopts. Looked up once per turn of the loop. */
export function adopted(): readonly Orphan[] {
	if (!adopting) return [];
	const turn = currentTurn();
	if (cached?.turn !== turn) cached = {turn, found: findOrphans()};
	return cached.found;
}

/** Orphans that come from one of these processes, whether it still lives or not. */
export function adoptedFrom(leaders: Iterable<Leader>): Orphan[] {
	const orphans = adopted();
	if (orphans.length === 0) return [];
	const marks = new Set<string | undefined>();
	const pids = new Set<number>();
	for (const {pid, mark} of leaders) {
		if (mark !== undefined) marks.add(mark);
		// The number of a session or group is not given anew while it has members, but after that it is: the mark is surer.
		else pids.add(pid);
	}
	return orphans.filter(({mark, sessionId, groupId}) => marks.has(mark) || pids.has(sessionId) || pids.has(groupId));
}

function findOrphans(): Orphan[] {
	return childrenOf(process.pid)
		.filter(pid => !ownPids.has(pid))
		.map(processInfo)
		.filter(info => info !== undefined)
		.map(info => ({...info, mark: markOf(info.pid)}));
}
