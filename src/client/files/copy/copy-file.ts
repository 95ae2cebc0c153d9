import {describePath, uriName, uriParent} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {FileLocation, UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import {changedError, findDifference, hasSameMetadata} from './compare-files.js';
import {atLocation, type CopyContext} from './copy-context.js';
import {damagedCopyError} from './copy-whole-file.js';
import {rootOption} from './guard-links.js';
import {discardPartial, type PartialFile, preparePartial, resumableLocation} from './partial-file.js';

/** Times that a range which arrived damaged is sent again. */
const MAX_REPAIRS = 2;

export interface FileCopy {
	readonly from: UriLocation;
	readonly to: UriLocation;
	readonly source: ListedEntry;
}

/**
 * Copies one file by way of a partial file beside the target, which is renamed when it is complete and compared. The
 * partial file of an earlier attempt is compared too, and resumed if it is the executor's own.
 */
export async function copyFile(copy: FileCopy, context: CopyContext): Promise<void> {
	const {to, source} = copy;
	const {stats} = context;
	stats.startEntry(uriName(to.path));
	const existing = await atLocation(to, () => listExisting(to, resumableLocation(to)));
	const {target} = existing;
	if (target && (await atLocation(to, () => isUpToDate(copy, target, context)))) {
		stats.skipFile(source.name, source.size);
		return;
	}
	const {partial, size} = await atLocation(to, () => preparePartial(to, existing.partial, source.size));
	try {
		await completePartial(copy, partial, size, context);
	} catch (error) {
		const discarded = discardPartial(partial).catch(() => {});
		// Calls over a dead connection never return.
		if (!context.signal.aborted) await discarded;
		throw error;
	}
	stats.addCopiedFiles(1);
}

async function completePartial(
	copy: FileCopy,
	partial: PartialFile,
	size: number,
	context: CopyContext,
): Promise<void> {
	const {from, to, source} = copy;
	const {signal, stats, sync, overwrite} = context;
	const start = Math.min(size, stats.verified.get(source, partial.path.href));
	const offset = (await findDifference(from, partial, {start, end: size, signal})) ?? size;
	if (partial.isResumable) stats.verified.set(source, partial.path.href, offset);
	stats.markInFlight([source.name]);
	if (offset > 0) stats.resumeFile(offset);
	await sendVerified(copy, partial, offset, context);
	await atLocation(to, async () => {
		await setAttributes(partial, source, sync);
		await to.files.rename(partial.path, to.path, {overwrite, sync, ...rootOption(to)});
	});
}

interface ExistingFiles {
	target?: ListedEntry;
	partial?: ListedEntry;
}

async function listExisting(to: UriLocation, partial: UriLocation): Promise<ExistingFiles> {
	const found: ExistingFiles = {};
	const names = [uriName(to.path), uriName(partial.path)];
	for await (const entry of to.files.list(uriParent(to.path), {names, ...rootOption(to)})) {
		if (entry.kind === 'failed') continue;
		if (entry.name === names[0]) found.target = entry;
		else found.partial = entry;
	}
	return found;
}

/** Whether the target stays as it is; only its mode is corrected. */
async function isUpToDate(
	{to, source}: FileCopy,
	target: ListedEntry,
	{overwrite, sync}: CopyContext,
): Promise<boolean> {
	if (target.kind === 'directory') throw directoryInTheWay(to);
	if (!overwrite) return true;
	if (!hasSameMetadata(source, target)) return false;
	if (target.mode !== source.mode) await setAttributes(to, source, sync);
	return true;
}

export function directoryInTheWay({path}: FileLocation): FileError {
	return new FileError('refused', 'a directory is in the way of a file', {path: describePath(path)});
}

async function sendVerified(copy: FileCopy, partial: PartialFile, start: number, context: CopyContext): Promise<void> {
	const {from, source} = copy;
	const {signal, stats} = context;
	for (let [offset, repairs] = [start, 0]; ; repairs++) {
		await sendFrom(offset, copy, partial, context);
		const difference = await findDifference(from, partial, {start: offset, end: source.size, signal});
		if (difference === undefined) return;
		if (repairs === MAX_REPAIRS) throw damagedCopyError(partial);
		stats.retractBytes(source.size - difference);
		offset = difference;
	}
}

/** Sends the file from the offset to its end; an empty file is created, too. */
async function sendFrom(
	offset: number,
	{from, to, source}: FileCopy,
	partial: PartialFile,
	{signal, stats}: CopyContext,
): Promise<void> {
	const {blockBytes} = stats.pace;
	const writing = {offset, signal, blockBytes, owned: partial.isResumable, ...rootOption(partial)};
	const writer = partial.files.writeStream(partial.path, writing).getWriter();
	let rest = source.size - offset;
	const reading = {offset, signal, blockBytes, ...rootOption(from)};
	try {
		if (rest > 0) {
			for await (const chunk of from.files.readStream(from.path, reading) as AsyncIterable<Uint8Array>) {
				// Bytes appended since the source was listed are not part of the copy.
				const piece = chunk.length > rest ? chunk.subarray(0, rest) : chunk;
				await atLocation(to, () => writer.write(piece));
				rest -= piece.length;
				stats.addSentBytes(piece.length);
				if (rest === 0) break;
			}
		}
		if (rest > 0) throw changedError(from);
		await atLocation(to, () => writer.close());
	} catch (error) {
		// The bytes written so far stay: the next attempt resumes behind them.
		writer.abort(error).catch(() => {});
		throw error;
	}
}

async function setAttributes(
	location: UriLocation,
	{mode, modifiedAtMs}: ListedEntry,
	sync: boolean | undefined,
): Promise<void> {
	const {files, path} = location;
	const change = {name: uriName(path), mode, modifiedAtMs};
	const [failure] = await files.setAttributes(uriParent(path), [change], {sync, ...rootOption(location)});
	if (failure) throw new FileError('failed', failure.message, {path: describePath(path)});
}
