import {partialFileName} from '../../../shared/partial-file-name.js';
import {uriName, uriParent} from '../../paths.js';
import {FileError, isDisconnected} from '../file-error.js';
import {metadataIfExists, siblingLocation, type UriLocation} from '../file-location.js';
import {atLocation} from './copy-context.js';
import {guardLinks, rootOption} from './guard-links.js';

/** A marker is shorter; a longer file is something else. */
const MAX_MARKER_BYTES = 1024;
const TITLE = 'longarm cp -r has not finished this directory; the same command goes on with it';
/** Digits of the creation time, so that the second version of a marker covers the first. */
const TIME_DIGITS = 16;

/**
 * Whether a directory is what an interrupted copy of this source made under this name. The marker of it is a file beside
 * it: one of the executor's user, where that can be told, and about this very directory, not a later one of that name.
 */
export async function isUnfinishedCopy(target: UriLocation, source: string): Promise<boolean> {
	const marker = await locateMarker(target);
	const text = marker && (await readMarker(marker));
	if (text === undefined) return false;
	const created = text.startsWith(toPrefix(source)) ? Number(text.slice(toPrefix(source).length)) : undefined;
	if (created === undefined) return false;
	return created === 0 || created === (await createdAt(target));
}

/**
 * Makes the directory of a copy, after a marker that says so: the directory is never there without one. Returns false if
 * it exists. A marker that cannot be written is no failure; such a copy is not found again by its name.
 */
export async function beginMarkedTree(target: UriLocation, source: string, sync: boolean): Promise<boolean> {
	if (await metadataIfExists(target)) return false;
	const marker = await locateMarker(target);
	if (marker) await succeeds(() => marker.files.remove(marker.path, {recursive: false, ...rootOption(marker)}));
	const isMarked = marker !== undefined && (await succeeds(() => writeMarker(marker, source, 0)));
	if (isMarked && sync) await syncMarker(marker);
	await atLocation(target, () => target.files.createDirectory(target.path, {recursive: false}));
	if (isMarked) await writeMarker(marker, source, await createdAt(target));
	return true;
}

/** Ends the copy under this name: the directory is like any other then. Removes nothing but its own marker. */
export async function removeMarker(target: UriLocation, source: string): Promise<void> {
	const marker = await locateMarker(target);
	if (marker && (await readMarker(marker))?.startsWith(toPrefix(source)))
		await marker.files.remove(marker.path, {recursive: false, ...rootOption(marker)});
}

/** Undefined if a link is there that the executor would follow. */
async function locateMarker({files, path}: UriLocation): Promise<UriLocation | undefined> {
	try {
		return await guardLinks({...siblingLocation({files, path}, partialFileName), root: uriParent(path)});
	} catch (error) {
		if (!(error instanceof FileError) || isDisconnected(error)) throw error;
		return undefined;
	}
}

async function readMarker(marker: UriLocation): Promise<string | undefined> {
	const {files, path} = marker;
	let text: string | undefined;
	await succeeds(async () => {
		const {isFile, isSymlink, size = 0} = await files.metadata(path, rootOption(marker));
		if (!isFile || isSymlink || size > MAX_MARKER_BYTES) return;
		// In a directory that others may write to, a marker of theirs would choose the place of the copy.
		if (await files.supports('owned')) {
			await files.writeStream(path, {offset: 0, owned: true, ...rootOption(marker)}).close();
		}
		text = await files.readText(path, rootOption(marker));
	});
	return text;
}

async function writeMarker(marker: UriLocation, source: string, createdAtMs: number): Promise<void> {
	const {files, path} = marker;
	const text = `${toPrefix(source)}${String(createdAtMs).padStart(TIME_DIGITS, '0')}\n`;
	if (!(await files.supports('owned'))) return files.writeFile(path, text, rootOption(marker));
	const writer = files.writeStream(path, {offset: 0, owned: true, ...rootOption(marker)}).getWriter();
	await writer.write(new TextEncoder().encode(text));
	await writer.close();
}

/** After a power cut the directory must not be there without its marker. */
async function syncMarker(marker: UriLocation): Promise<void> {
	const {files, path} = marker;
	await succeeds(async () => {
		await files.setAttributes(uriParent(path), [{name: uriName(path)}, {name: ''}], {sync: true});
	});
}

function toPrefix(source: string): string {
	return `${TITLE}\nsource ${source}\ncreated `;
}

/** 0 where the file system does not tell. */
async function createdAt({files, path}: UriLocation): Promise<number> {
	return Math.trunc((await files.metadata(path)).createdAtMs);
}

async function succeeds(operation: () => Promise<void>): Promise<boolean> {
	try {
		await operation();
		return true;
	} catch (error) {
		if (!(error instanceof FileError) || isDisconnected(error)) throw error;
		return false;
	}
}
