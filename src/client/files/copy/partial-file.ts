import {partialFileName, uniquePartialFileName} from '../../../shared/partial-file-name.js';
import {FileError, isDisconnected} from '../file-error.js';
import {siblingLocation, type UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import {rootOption} from './guard-links.js';

/** File beside the target that becomes it when it is complete. */
export interface PartialFile extends UriLocation {
	/** The next attempt finds it by its name. The executor is asked at each opening whether it is its own. */
	readonly isResumable: boolean;
}

export interface PreparedPartial {
	readonly partial: PartialFile;
	/** Bytes of an earlier attempt in it. */
	readonly size: number;
}

/** Name of the partial file, beside the target, that an attempt leaves to the next one. */
export function resumableLocation(to: UriLocation): UriLocation {
	return siblingLocation(to, partialFileName);
}

/** Partial file with a name that nobody can foresee, for one attempt. */
export function uniqueLocation(to: UriLocation): UriLocation {
	return siblingLocation(to, uniquePartialFileName);
}

/**
 * Takes the partial file of an earlier attempt if the executor's user alone can write to it: the content of any other can
 * be changed after it was compared, and after it got the name of the target. One that is not is removed, or passed over.
 */
export async function preparePartial(
	to: UriLocation,
	existing: ListedEntry | undefined,
	maxBytes: number,
): Promise<PreparedPartial> {
	const partial = {...resumableLocation(to), isResumable: true};
	if (await to.files.supports('owned')) {
		const isUsable = !existing || (existing.kind === 'file' && existing.size <= maxBytes);
		if (isUsable && (await canOpen(partial))) return {partial, size: existing?.size ?? 0};
		if ((await isRemoved(partial)) && (await canOpen(partial))) return {partial, size: 0};
	}
	return {partial: {...uniqueLocation(to), isResumable: false}, size: 0};
}

/** Removes a partial file that no other attempt would find; the failure before it is the one to report. */
export async function discardPartial(partial: PartialFile): Promise<void> {
	if (!partial.isResumable) await isRemoved(partial);
}

/** Creates a missing file. */
function canOpen(partial: PartialFile): Promise<boolean> {
	return succeeds(partial.files.writeStream(partial.path, {offset: 0, owned: true, ...rootOption(partial)}).close());
}

function isRemoved(partial: UriLocation): Promise<boolean> {
	return succeeds(partial.files.remove(partial.path, {recursive: false, ...rootOption(partial)}));
}

async function succeeds(operation: Promise<void>): Promise<boolean> {
	try {
		await operation;
		return true;
	} catch (error) {
		if (!(error instanceof FileError) || isDisconnected(error)) throw error;
		return false;
	}
}
