import {currentTick} from '../backends/event-loop-tick.js';
import {descendantTagOf} from '../backends/linux/descendant-tags.js';
import {childrenOf, type ProcessInfo, processInfo} from './process-tree.js';

/** A process that was started here, by what its descendants can be recognised. */
export interface ProcessRoot {
	readonly pid: number;
	/** Inherited by everything below it. */
	readonly tag: string | undefined;
}

/**
 * A program that adopts orphans is handed, by the kernel, every process below it whose parent has died. Whether it does
 * is a fact about the whole program, and so is this state.
 */
let adopting = false;
const ownPids = new Set<number>();
let cached: {turn: number; found: Orphan[]} | undefined;

type Orphan = ProcessInfo & {readonly tag: string | undefined};

export function enableSubreaper(): void {
	adopting = true;
}

export function isSubreaper(): boolean {
	return adopting;
}

/** A child that was started here and is no orphan. */
export function registerChild(pid: number): void {
	ownPids.add(pid);
}

export function unregisterChild(pid: number): void {
	ownPids.delete(pid);
}

/** The living orphans that were handed to this program; empty unless it adopts. Looked up once per turn of the loop. */
export function listOrphans(): readonly Orphan[] {
	if (!adopting) return [];
	const turn = currentTick();
	if (cached?.turn !== turn) cached = {turn, found: findOrphans()};
	return cached.found;
}

/** Orphans that come from one of these processes, whether it still lives or not. */
export function orphansOf(leaders: Iterable<ProcessRoot>): Orphan[] {
	const all = listOrphans();
	if (all.length === 0) return [];
	const tags = new Set<string | undefined>();
	const pids = new Set<number>();
	for (const {pid, tag} of leaders) {
		if (tag !== undefined) tags.add(tag);
		// The number of a session or group is not given anew while it has members, but after that it is: the tag is surer.
		else pids.add(pid);
	}
	return all.filter(({tag, sessionId, groupId}) => tags.has(tag) || pids.has(sessionId) || pids.has(groupId));
}

function findOrphans(): Orphan[] {
	return childrenOf(process.pid)
		.filter(pid => !ownPids.has(pid))
		.map(processInfo)
		.filter(info => info !== undefined)
		.map(info => ({...info, tag: descendantTagOf(info.pid)}));
}
