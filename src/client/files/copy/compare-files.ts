import {describePath} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {FileLocation, UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import {atLocation} from './copy-context.js';
import {rootOption} from './guard-links.js';

/** Bytes compared at a time: each end reads its own file, and only checksums are sent. */
const RANGE_BYTES = 64 * 1024 * 1024;
/** Ranges are halved down to this size to find where they differ. */
const MIN_RANGE_BYTES = 256 * 1024;

/** Compares metadata. Times are kept to the millisecond: nothing but a copy gives a file this very time and size. */
export function hasSameMetadata(source: ListedEntry, target: ListedEntry): boolean {
	if (source.kind !== target.kind) return false;
	if (source.kind === 'symlink') return source.target === target.target;
	return source.size === target.size && source.modifiedAtMs === target.modifiedAtMs;
}

/** Offset of the first small range in which the files differ by checksum; undefined if none does before `end`. */
export async function findDifference(
	source: UriLocation,
	target: UriLocation,
	{start, end, signal}: {start: number; end: number; signal: AbortSignal},
): Promise<number | undefined> {
	for (let offset = start; offset < end; offset += RANGE_BYTES) {
		signal.throwIfAborted();
		const length = Math.min(RANGE_BYTES, end - offset);
		if (await isSameRange(source, target, {offset, length})) continue;
		return narrowDifference(source, target, {offset, length});
	}
	return undefined;
}

/** Only a kill or a power cut leaves a partial file with a difference in its middle; everything before it is kept. */
async function narrowDifference(source: UriLocation, target: UriLocation, range: DigestRange): Promise<number> {
	let {offset, length} = range;
	while (length > MIN_RANGE_BYTES) {
		const half = Math.ceil(length / 2);
		if (await isSameRange(source, target, {offset, length: half})) {
			offset += half;
			length -= half;
		} else length = half;
	}
	return offset;
}

interface DigestRange {
	readonly offset: number;
	readonly length: number;
}

async function isSameRange(source: UriLocation, target: UriLocation, range: DigestRange): Promise<boolean> {
	const [expected, actual] = await Promise.all([
		atLocation(source, () => source.files.digest(source.path, {...range, ...rootOption(source)})),
		atLocation(target, () => target.files.digest(target.path, {...range, ...rootOption(target)})),
	]);
	if (expected.length < range.length) throw changedError(source);
	return expected.sha256 === actual.sha256 && expected.length === actual.length;
}

export function changedError({path}: FileLocation): FileError {
	return new FileError('failed', 'it changed while it was copied', {path: describePath(path)});
}
