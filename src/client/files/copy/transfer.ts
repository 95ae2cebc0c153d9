import {describePath} from '../../paths.js';
import {about, FileError} from '../file-error.js';
import type {Progress, TransferOutcome} from '../files.js';
import {type FileLocation, requireFreeTarget} from './file-location.js';
import {isUriWithin} from './relocation.js';
import {packedFile, packedTree} from './transfer-packed.js';
import {plainFile, plainTree} from './transfer-plain.js';

export interface TransferProgress extends Progress {
	/** What it is going to be, as far as one can tell; undefined if nobody does. */
	readonly total: Progress | undefined;
}

export interface TransferOptions {
	readonly progress?: ((progress: TransferProgress) => void) | undefined;
	readonly signal?: AbortSignal | undefined;
	/** Whether files take the place of what is there. */
	readonly overwrite?: boolean | undefined;
	/** Read every file back where the ends cannot tell checksums. Where they can, checksums are always compared. */
	readonly verify?: boolean | undefined;
}

export interface TransferResult extends Progress {
	/** What could not be taken along. */
	readonly errors: TransferOutcome['errors'];
	/** How it was made sure of that what arrived is what was sent. */
	readonly checked: 'checksum' | 'read-back' | 'size';
}

export interface TransferRoute {
	readonly from: FileLocation;
	readonly to: FileLocation;
}

/**
 * Copies a file or a tree to any path of any machine, this one included. What is copied takes the name of the target.
 * Between two longarm executors it travels as one stream, with modes, times and links; otherwise file by file, with
 * contents only and without links.
 */
export async function transfer(route: TransferRoute, options: TransferOptions = {}): Promise<TransferResult> {
	options.signal?.throwIfAborted();
	return about(route.to.path, () => copied(route, options));
}

async function copied(route: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {from, to} = route;
	const {isDirectory, isFile, size} = await from.files.metadata(from.path);
	if (isDirectory && from.files === to.files && isUriWithin(to.path, from.path)) {
		const message = 'a directory cannot be copied into itself';
		throw new FileError('refused', message, {path: describePath(to.path)});
	}
	if (isDirectory)
		return (await bothSupport(route, 'transfer')) ? packedTree(route, options) : plainTree(route, options);
	const path = describePath(from.path);
	if (!isFile) throw new FileError('refused', 'path is neither a directory nor a regular file', {path});
	if (!options.overwrite) await requireFreeTarget(to);
	const canRename = await to.files.supports('rename');
	if (canRename && (await bothSupport(route, 'transfer'))) return packedFile(route, options);
	return plainFile(route, options, size);
}

async function bothSupport({from, to}: TransferRoute, feature: 'transfer'): Promise<boolean> {
	return (await from.files.supports(feature)) && to.files.supports(feature);
}
