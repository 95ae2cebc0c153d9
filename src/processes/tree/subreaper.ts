// Linux only: child subreaper, prctl(PR_SET_CHILD_SUBREAPER). On other systems it is never enabled.
import {readProc} from './proc.js';
import {listChildren, type ProcessInfo, readProcessInfo} from './process-tree.js';

/** Root of a process tree: a child started here, and the tag its descendants are recognised by. */
export interface ProcessRoot {
	readonly pid: number;
	/** Inherited by every descendant. */
	readonly tag: string | undefined;
}

type Orphan = ProcessInfo & {readonly tag: string | undefined};

/** Line of `/proc/PID/limits` that holds the descendant tag; `backends/linux/descendant-tags.ts` sets it. */
const TAG_LINE = /^Max realtime timeout\s+(\d+)/m;

// Module state: being a subreaper is a property of the whole process. The kernel reparents to it every descendant whose
// parent has died.
let isEnabled = false;
const ownPids = new Set<number>();
/** Orphans found in this tick of the event loop. */
let cached: Orphan[] | undefined;

export function enableSubreaper(): void {
	isEnabled = true;
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
	if (!isEnabled) return [];
	if (!cached) {
		cached = findOrphans();
		setImmediate(() => {
			cached = undefined;
		});
	}
	return cached;
}

/** Orphans that descend from one of these processes, whether it is still alive or not. */
export function findOrphansOf(leaders: Iterable<ProcessRoot>): Orphan[] {
	const all = listOrphans();
	if (all.length === 0) return [];
	const tags = new Set<string | undefined>();
	const pids = new Set<number>();
	for (const {pid, tag} of leaders) {
		if (tag !== undefined) tags.add(tag);
		// The id of a session or group is reused once it has no members, so the tag is preferred.
		else pids.add(pid);
	}
	return all.filter(({tag, sessionId, groupId}) => tags.has(tag) || pids.has(sessionId) || pids.has(groupId));
}

function findOrphans(): Orphan[] {
	return listChildren(process.pid)
		.filter(pid => !ownPids.has(pid))
		.map(readProcessInfo)
		.filter(info => info !== undefined)
		.map(info => ({...info, tag: readDescendantTag(info.pid)}));
}

/** The tag of a process: one of ours, or of another program that tags its children. */
function readDescendantTag(pid: number): string | undefined {
	try {
		return TAG_LINE.exec(readProc(`${pid}/limits`))?.[1];
	} catch {
		return undefined;
	}
}
