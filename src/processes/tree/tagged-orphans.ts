// Linux only: orphans of a program that is not a subreaper. On other systems no child has a tag.
import {listProc, readProc} from './proc.js';
import {listDescendants, type ProcessInfo, readProcessInfo} from './process-tree.js';
import type {ProcessRoot} from './subreaper.js';

/** Line of `/proc/PID/limits` whose soft limit holds the tag; `backends/linux/temporary-tags.ts` sets it. */
const TAG_LINE = /^Max realtime timeout\s+(\d+)/m;

// Module state: tags are those of the whole process.
let isIssuedTag: ((tag: string) => boolean) | undefined;
/** Tags of processes by pid, read in this tick of the event loop. */
let cached: ReadonlyMap<number, string> | undefined;

/** `isIssued` tells tags of this program from those of others. */
export function enableTaggedOrphans(isIssued: (tag: string) => boolean): void {
	isIssuedTag = isIssued;
}

/**
 * Processes that come from one of these leaders and lost their parent, with their descendants. The kernel has given them
 * another parent than this program, and they may have changed their session.
 */
export function listTaggedOrphans(leaders: readonly ProcessRoot[]): ProcessInfo[] {
	const wanted = new Set(leaders.map(({tag}) => tag).filter(tag => tag !== undefined));
	if (wanted.size === 0 || !isIssuedTag) return [];
	const tags = readTags(isIssuedTag);
	return [...tags]
		.filter(([, tag]) => wanted.has(tag))
		.map(([pid]) => readProcessInfo(pid))
		.filter(info => info !== undefined)
		.filter(({pid, parentPid}) => parentPid !== process.pid && tags.get(parentPid) !== tags.get(pid))
		.flatMap(root => [root, ...listDescendants(root.pid)]);
}

/** Makes the next call read the tags again within the same tick. */
export function refreshTaggedOrphans(): void {
	cached = undefined;
}

/** One look at all processes serves all trees that are ended together. */
function readTags(isIssued: (tag: string) => boolean): ReadonlyMap<number, string> {
	if (cached) return cached;
	const tags = new Map<number, string>();
	for (const name of listProc('')) {
		const pid = Number(name);
		const tag = Number.isInteger(pid) ? readTag(pid) : undefined;
		if (tag !== undefined && isIssued(tag)) tags.set(pid, tag);
	}
	cached = tags;
	setImmediate(refreshTaggedOrphans);
	return tags;
}

function readTag(pid: number): string | undefined {
	try {
		return TAG_LINE.exec(readProc(`${pid}/limits`))?.[1];
	} catch {
		return undefined;
	}
}
