// Linux only: child subreaper, prctl(PR_SET_CHILD_SUBREAPER). On other systems it is never enabled.
import {readProc} from './proc.js';
import {listChildren, type ProcessInfo, type ProcessOrZombie, readProcessOrZombie} from './process-tree.js';

/** Root of a process tree: a child started here, and the tag its descendants are recognised by. */
export interface ProcessRoot {
	readonly pid: number;
	/** Inherited by every descendant. */
	readonly tag: string | undefined;
	/** `performance.now()` when it was started; decides about orphans whose tag is gone. */
	readonly spawnedAt?: number;
}

/** The root alone, without what else the object has. */
export function toProcessRoot({pid, tag, spawnedAt}: ProcessRoot): ProcessRoot {
	return {pid, tag, ...(spawnedAt !== undefined && {spawnedAt})};
}

/** An adopted child, alive or not reaped yet. */
export type Orphan = ProcessOrZombie & {readonly tag: string | undefined};

/** Decides whose orphan it is. */
export type OrphanFilter = (orphan: Orphan) => boolean;

/** Start times are given in hundredths of a second (USER_HZ, the same on every Linux), and are rounded down. */
const TICK_MS = 10;
const START_TOLERANCE_MS = 5 * TICK_MS;

/** Line of `/proc/PID/limits` that holds the descendant tag; `backends/linux/descendant-tags.ts` sets it. */
const TAG_LINE = /^Max realtime timeout\s+\S+\s+(\d+)/m;

// Module state: being a subreaper is a property of the whole process. The kernel reparents to it every descendant whose
// parent has died.
let isEnabled = false;
let isIssuedTag: (tag: string) => boolean = () => false;
let reap: (pid: number) => void = () => {};
const ownPids = new Set<number>();
/** Orphans found in this tick of the event loop. */
let cached: Orphan[] | undefined;

/** `isIssued` tells tags of this program from those of others; `reapChild` reaps a child that has exited. */
export function enableSubreaper(isIssued: (tag: string) => boolean, reapChild: (pid: number) => void): void {
	isEnabled = true;
	isIssuedTag = isIssued;
	reap = reapChild;
}

/** Reaps an orphan that has exited, before the event loop would. */
export function reapOrphan({pid}: Orphan): void {
	reap(pid);
}

export function isSubreaper(): boolean {
	return isEnabled;
}

/** Registers a child that was started here and so is no orphan. */
export function registerChild(pid: number): void {
	ownPids.add(pid);
}

export function unregisterChild(pid: number): void {
	ownPids.delete(pid);
}

/** The living orphans this process has adopted; empty unless it is a subreaper. Read once per tick of the event loop. */
export function listOrphans(): readonly Orphan[] {
	return listAll().filter(({isDead}) => !isDead);
}

/**
 * Orphans that are alive or have exited and are not reaped yet. A process that forks and exits all the time is always one of
 * them: while this program reaps nothing, no child leaves the list.
 */
export function findOrphans(belongs: OrphanFilter): Orphan[] {
	return listAll().filter(belongs);
}

/** Makes the next call read the orphans again within the same tick. */
export function refreshOrphans(): void {
	cached = undefined;
}

function listAll(): readonly Orphan[] {
	if (!isEnabled) return [];
	if (!cached) {
		cached = readOrphans();
		setImmediate(() => {
			cached = undefined;
		});
	}
	return cached;
}

/** Orphans that descend from one of these processes, whether it is still alive or not. */
export function findOrphansOf(leaders: Iterable<ProcessRoot>): Orphan[] {
	const all = listOrphans();
	return all.length === 0 ? [] : all.filter(isOrphanOf(leaders));
}

/** Accepts orphans that descend from one of these processes. */
export function isOrphanOf(leaders: Iterable<ProcessRoot>): OrphanFilter {
	const tags = new Set<string | undefined>();
	const untagged = new Set<number>();
	const started = new Map<number, number>();
	for (const {pid, tag, spawnedAt} of leaders) {
		if (tag !== undefined) tags.add(tag);
		// The id of a session or group is reused once it has no members, so the tag is preferred.
		else untagged.add(pid);
		if (spawnedAt !== undefined) started.set(pid, spawnedAt);
	}
	return orphan =>
		tags.has(orphan.tag) ||
		untagged.has(orphan.sessionId) ||
		untagged.has(orphan.groupId) ||
		(isUnknown(orphan) && startedAtOf(orphan) >= (started.get(orphan.sessionId) ?? Number.POSITIVE_INFINITY));
}

/**
 * Accepts orphans that carry no tag of this program and are in no session of a child that runs; only those that may have
 * come from `leader`, if one is given, because they started later.
 */
export function isUnclaimedOrphan(leader?: ProcessRoot): OrphanFilter {
	return orphan =>
		isUnknown(orphan) &&
		!ownPids.has(orphan.sessionId) &&
		(leader === undefined || startedAtOf(orphan) >= (leader.spawnedAt ?? Number.POSITIVE_INFINITY));
}

/** True for a child that was started here, false for an adopted orphan. */
export function isOwnChild(pid: number): boolean {
	return ownPids.has(pid);
}

/** True if the process carries no tag of this program. */
export function hasUnknownTag(pid: number): boolean {
	return readIssuedTag(pid) === undefined;
}

/** Undefined if the process carries no tag of this program. */
export function readIssuedTag(pid: number): string | undefined {
	const tag = readDescendantTag(pid);
	return isUnknown({tag}) ? undefined : tag;
}

function isUnknown({tag}: Pick<Orphan, 'tag'>): boolean {
	return tag === undefined || !isIssuedTag(tag);
}

/** Latest time, by `performance.now()`, the process may have started at. */
function startedAtOf({startTime}: ProcessInfo): number {
	const uptimeMs = Number.parseFloat(readProc('uptime')) * 1000;
	return performance.now() - (uptimeMs - Number(startTime) * TICK_MS) + START_TOLERANCE_MS;
}

function readOrphans(): Orphan[] {
	return listChildren(process.pid)
		.filter(pid => !ownPids.has(pid))
		.map(readOrphan)
		.filter(orphan => orphan !== undefined);
}

/** Undefined when it was reaped. */
export function readOrphan(pid: number): Orphan | undefined {
	const found = readProcessOrZombie(pid);
	return found && {...found, tag: readDescendantTag(pid)};
}

/** The tag of a process: one of ours, or of another program that tags its children. */
function readDescendantTag(pid: number): string | undefined {
	try {
		return TAG_LINE.exec(readProc(`${pid}/limits`))?.[1];
	} catch {
		return undefined;
	}
}
