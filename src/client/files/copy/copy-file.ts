import {partialFileName} from '../../../shared/partial-file-name.js';
import {describePath, uriName, uriParent} from '../../paths.js';
import {FileError} from '../file-error.js';
import {type FileLocation, siblingLocation, type UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import {changedError, findDifference, hasSameContent} from './compare-files.js';
import type {CopyContext} from './copy-context.js';
import {damagedCopyError} from './copy-whole-file.js';
import {rootOption} from './guard-links.js';

/** Times that a range which arrived damaged is sent again. */
const MAX_REPAIRS = 2;

export interface FileCopy {
	readonly from: UriLocation;
	readonly to: UriLocation;
	readonly source: ListedEntry;
}

/**
 * Copies one file by way of a partial file beside the target, which is renamed when it is complete and compared. The
 * partial file of an earlier attempt is compared too, and resumed.
 */
export async function copyFile(copy: FileCopy, context: CopyContext): Promise<void> {
	const {to, source} = copy;
	const {stats} = context;
	stats.startEntry(uriName(to.path));
	const partial = siblingLocation(to, partialFileName);
	const existing = await listExisting(to, partial);
	if (existing.target && (await isUpToDate(copy, existing.target, context))) {
		stats.skipFile(source.name, source.size);
		return;
	}
	const offset = await findResumeOffset(copy, partial, existing.partial, context);
	stats.markInFlight([source.name]);
	if (offset > 0) stats.resumeFile(offset);
	await sendVerified(copy, partial, offset, context);
	await setAttributes(partial, source);
	await to.files.rename(partial.path, to.path, {overwrite: context.overwrite, ...rootOption(to)});
	stats.addCopiedFiles(1);
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
async function isUpToDate({to, source}: FileCopy, target: ListedEntry, {overwrite}: CopyContext): Promise<boolean> {
	if (target.kind === 'directory') throw directoryInTheWay(to);
	if (!overwrite) return true;
	if (!hasSameContent(source, target)) return false;
	if (target.mode !== source.mode) await setAttributes(to, source);
	return true;
}

export function directoryInTheWay({path}: FileLocation): FileError {
	return new FileError('refused', 'a directory is in the way of a file', {path: describePath(path)});
}

/** Bytes of the partial file that are those of the source. */
async function findResumeOffset(
	{from, source}: FileCopy,
	partial: UriLocation,
	existing: ListedEntry | undefined,
	{signal}: CopyContext,
): Promise<number> {
	if (!existing) return 0;
	if (existing.kind !== 'file' || existing.size > source.size) {
		await partial.files.remove(partial.path, {recursive: false, ...rootOption(partial)});
		return 0;
	}
	return (await findDifference(from, partial, {start: 0, end: existing.size, signal})) ?? existing.size;
}

async function sendVerified(copy: FileCopy, partial: UriLocation, start: number, context: CopyContext): Promise<void> {
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
	{from, source}: FileCopy,
	partial: UriLocation,
	{signal, stats}: CopyContext,
): Promise<void> {
	const writer = partial.files.writeStream(partial.path, {offset, signal, ...rootOption(partial)}).getWriter();
	let rest = source.size - offset;
	const reading = {offset, signal, ...rootOption(from)};
	try {
		if (rest > 0) {
			for await (const chunk of from.files.readStream(from.path, reading) as AsyncIterable<Uint8Array>) {
				// Bytes appended since the source was listed are not part of the copy.
				const piece = chunk.length > rest ? chunk.subarray(0, rest) : chunk;
				await writer.write(piece);
				rest -= piece.length;
				stats.addSentBytes(piece.length);
				if (rest === 0) break;
			}
		}
		if (rest > 0) throw changedError(from);
		await writer.close();
	} catch (error) {
		// The bytes written so far stay: the next attempt resumes behind them.
		writer.abort(error).catch(() => {});
		throw error;
	}
}

async function setAttributes(location: UriLocation, {mode, modifiedAtMs}: ListedEntry): Promise<void> {
	const {files, path} = location;
	const change = {name: uriName(path), mode, modifiedAtMs};
	const [failure] = await files.setAttributes(uriParent(path), [change], rootOption(location));
	if (failure) throw new FileError('failed', failure.message, {path: describePath(path)});
}
