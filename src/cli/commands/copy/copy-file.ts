import {FileError} from '../../../client/files/file-error.js';
import type {ListedEntry} from '../../../client/files/files.js';
import {uriChild, uriName, uriParent} from '../../../client/paths.js';
import {partialFileName} from '../../../shared/partial-file-name.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {printableName} from '../../common/printable.js';
import type {CopyContext} from './copy-context.js';
import {changed, firstDifference} from './same-content.js';

/** How often what did not arrive as it was sent is sent again. */
const MAX_REPAIRS = 2;

export interface FileCopy {
	readonly from: Location;
	readonly to: Location;
	readonly source: ListedEntry;
}

/**
 * One file, beside its place until it is whole and has been compared. What an earlier attempt left there is compared
 * too, and gone on with.
 */
export async function copyFile(copy: FileCopy, context: CopyContext): Promise<void> {
	const {to, source} = copy;
	const {stats} = context;
	stats.label = printableName(uriName(to.path));
	const part = {...to, path: uriChild(uriParent(to.path), partialFileName(uriName(to.path)))};
	const {target, left} = await lookAround(to, part);
	if (target && (await isSettled(copy, target, context))) {
		stats.skip(source.name, source.size);
		return;
	}
	const offset = await beginning(copy, part, left, context);
	stats.send([source.name]);
	if (offset > 0) stats.resume(offset);
	await fill(copy, part, offset, context);
	await putInPlace(copy, part, context);
	stats.copied(1);
}

/** What stands at the place of the file, and at that of its unfinished form. */
async function lookAround(to: Location, part: Location): Promise<{target?: ListedEntry; left?: ListedEntry}> {
	const found: {target?: ListedEntry; left?: ListedEntry} = {};
	const names = [uriName(to.path), uriName(part.path)];
	for await (const entry of to.files.list(uriParent(to.path), {names})) {
		if (entry.kind === 'failed') continue;
		if (entry.name === names[0]) found.target = entry;
		else found.left = entry;
	}
	return found;
}

async function isSettled({to, source}: FileCopy, target: ListedEntry, {noClobber}: CopyContext): Promise<boolean> {
	if (target.kind === 'directory') throw inTheWay(to);
	if (noClobber) return true;
	if (!hasSameContent(source, target)) return false;
	if (target.mode !== source.mode) await setAttributes(to, source);
	return true;
}

/** Times are kept to the millisecond: nothing else gives a file this very time and size. */
export function hasSameContent(source: ListedEntry, target: ListedEntry): boolean {
	if (source.kind !== target.kind) return false;
	if (source.kind === 'symlink') return source.target === target.target;
	return source.size === target.size && source.modifiedAtMs === target.modifiedAtMs;
}

export function inTheWay(place: Location): FileError {
	return new FileError('refused', 'a directory is in the way of a file', {path: describeLocation(place)});
}

/** How much of the file is there already. */
async function beginning(
	{from, source}: FileCopy,
	part: Location,
	left: ListedEntry | undefined,
	{signal}: CopyContext,
): Promise<number> {
	if (!left) return 0;
	if (left.kind !== 'file' || left.size > source.size) {
		await part.files.remove(part.path, {recursive: false});
		return 0;
	}
	return (await firstDifference(from, part, {from: 0, end: left.size, signal})) ?? left.size;
}

async function fill(copy: FileCopy, part: Location, beginAt: number, context: CopyContext): Promise<void> {
	const {from, source} = copy;
	const {signal, stats} = context;
	for (let [offset, repairs] = [beginAt, 0]; ; repairs++) {
		await stream(copy, part, offset, context);
		const difference = await firstDifference(from, part, {from: offset, end: source.size, signal});
		if (difference === undefined) return;
		if (repairs === MAX_REPAIRS) {
			throw new FileError('damaged', 'what arrived is not what was sent', {path: describeLocation(part)});
		}
		stats.retract(source.size - difference);
		offset = difference;
	}
}

/** Sends the rest of the file; an empty one is created all the same. */
async function stream({from, source}: FileCopy, part: Location, offset: number, context: CopyContext): Promise<void> {
	const {signal, stats} = context;
	const writer = part.files.writeStream(part.path, {offset, signal}).getWriter();
	let rest = source.size - offset;
	try {
		if (rest > 0) {
			for await (const chunk of from.files.readStream(from.path, {offset, signal}) as AsyncIterable<Uint8Array>) {
				// What was added meanwhile is not part of the file that is copied.
				const piece = chunk.length > rest ? chunk.subarray(0, rest) : chunk;
				await writer.write(piece);
				rest -= piece.length;
				stats.move(piece.length);
				if (rest === 0) break;
			}
		}
		if (rest > 0) throw changed(from);
		await writer.close();
	} catch (error) {
		// What was written stays: it is gone on with.
		writer.abort(error).catch(() => {});
		throw error;
	}
}

async function putInPlace({to, source}: FileCopy, part: Location, {noClobber}: CopyContext): Promise<void> {
	await setAttributes(part, source);
	await to.files.rename(part.path, to.path, {overwrite: !noClobber});
}

async function setAttributes(place: Location, {mode, modifiedAtMs}: ListedEntry): Promise<void> {
	const entry = {name: uriName(place.path), mode, modifiedAtMs};
	const [complaint] = await place.files.setAttributes(uriParent(place.path), [entry]);
	if (complaint) throw new FileError('failed', complaint.message, {path: describeLocation(place)});
}
