import {FileError} from '../../../client/files/file-error.js';
import type {ListedEntry} from '../../../client/files/files.js';
import {childOf, nameOf, parentOf} from '../../../client/paths.js';
import {partNameOf} from '../../../shared/partial-file-name.js';
import {describePlace, type Place} from '../../common/locations.js';
import {printableName} from '../../common/printable.js';
import type {CopyContext} from './copy-context.js';
import {changed, firstDifference} from './same-content.js';

/** How often what did not arrive as it was sent is sent again. */
const MAX_REPAIRS = 2;

export interface FileCopy {
	readonly from: Place;
	readonly to: Place;
	readonly source: ListedEntry;
}

/**
 * One file, beside its place until it is whole and has been compared. What an earlier attempt left there is compared
 * too, and gone on with.
 */
export async function copyFile(copy: FileCopy, context: CopyContext): Promise<void> {
	const {to, source} = copy;
	const {tally} = context;
	tally.label = printableName(nameOf(to.path));
	const part = {...to, path: childOf(parentOf(to.path), partNameOf(nameOf(to.path)))};
	const {target, left} = await lookAround(to, part);
	if (target && (await isSettled(copy, target, context))) {
		tally.skip(source.name, source.size);
		return;
	}
	const offset = await beginning(copy, part, left, context);
	tally.send([source.name]);
	if (offset > 0) tally.resume(offset);
	await fill(copy, part, offset, context);
	await putInPlace(copy, part, context);
	tally.copied(1);
}

/** What stands at the place of the file, and at that of its unfinished form. */
async function lookAround(to: Place, part: Place): Promise<{target?: ListedEntry; left?: ListedEntry}> {
	const found: {target?: ListedEntry; left?: ListedEntry} = {};
	const names = [nameOf(to.path), nameOf(part.path)];
	for await (const entry of to.files.list(parentOf(to.path), {names})) {
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

export function inTheWay(place: Place): FileError {
	return new FileError('refused', 'a directory is in the way of a file', {path: describePlace(place)});
}

/** How much of the file is there already. */
async function beginning(
	{from, source}: FileCopy,
	part: Place,
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

async function fill(copy: FileCopy, part: Place, beginAt: number, context: CopyContext): Promise<void> {
	const {from, source} = copy;
	const {signal, tally} = context;
	for (let [offset, repairs] = [beginAt, 0]; ; repairs++) {
		await stream(copy, part, offset, context);
		const difference = await firstDifference(from, part, {from: offset, end: source.size, signal});
		if (difference === undefined) return;
		if (repairs === MAX_REPAIRS) {
			throw new FileError('damaged', 'what arrived is not what was sent', {path: describePlace(part)});
		}
		tally.retract(source.size - difference);
		offset = difference;
	}
}

/** Sends the rest of the file; an empty one is created all the same. */
async function stream({from, source}: FileCopy, part: Place, offset: number, context: CopyContext): Promise<void> {
	const {signal, tally} = context;
	const writer = part.files.writeStream(part.path, {offset, signal}).getWriter();
	let rest = source.size - offset;
	try {
		if (rest > 0) {
			for await (const chunk of from.files.readStream(from.path, {offset, signal}) as AsyncIterable<Uint8Array>) {
				// What was added meanwhile is not part of the file that is copied.
				const piece = chunk.length > rest ? chunk.subarray(0, rest) : chunk;
				await writer.write(piece);
				rest -= piece.length;
				tally.move(piece.length);
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

async function putInPlace({to, source}: FileCopy, part: Place, {noClobber}: CopyContext): Promise<void> {
	await setAttributes(part, source);
	await to.files.rename(part.path, to.path, {overwrite: !noClobber});
}

async function setAttributes(place: Place, {mode, modifiedAtMs}: ListedEntry): Promise<void> {
	const entry = {name: nameOf(place.path), mode, modifiedAtMs};
	const [complaint] = await place.files.setAttributes(parentOf(place.path), [entry]);
	if (complaint) throw new FileError('failed', complaint.message, {path: describePlace(place)});
}
