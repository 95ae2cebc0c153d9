import {FileError, isDisconnected} from '../file-error.js';
import {childLocation, type UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import type {CopyContext} from './copy-context.js';
import {rootOption} from './guard-links.js';
import {streamTree} from './stream-tree.js';

/** Times that a stream which arrived damaged is sent again. */
const MAX_REPAIRS = 2;

/**
 * Sends a batch of entries of a tree as one stream; both ends compare its checksum. A source that sends others than it was
 * asked for replaces nothing, either, that may not be replaced.
 */
export async function sendEntries(
	from: UriLocation,
	to: UriLocation,
	entries: readonly ListedEntry[],
	context: CopyContext,
): Promise<void> {
	context.stats.markInFlight(entries.map(({name}) => name));
	for (let repairs = 0; ; repairs++) {
		try {
			await sendOnce(from, to, entries, context);
			return;
		} catch (error) {
			if (!(error instanceof FileError) || error.code !== 'damaged') throw error;
			const isLast = repairs === MAX_REPAIRS;
			// The target lacked these files: where nothing is replaced, those that arrived damaged make way.
			if (isLast || !context.overwrite) await removeFiles(to, entries);
			if (isLast) throw error;
		}
	}
}

/**
 * Which files are damaged is not known, and the next attempt would skip all of them. A target that would follow links to
 * remove them keeps them, with a time that is not that of the source.
 */
async function removeFiles(to: UriLocation, entries: readonly ListedEntry[]): Promise<void> {
	const files = entries.filter(({kind}) => kind === 'file');
	if (to.root === undefined) {
		const changes = files.map(({name}) => ({name, modifiedAtMs: 0}));
		await to.files.setAttributes(to.path, changes);
		return;
	}
	for (const {name} of files) await removeFile(childLocation(to, name));
}

/** A file whose directory became a link did not arrive; the damage is the failure to report. */
async function removeFile(file: UriLocation): Promise<void> {
	try {
		await file.files.remove(file.path, {recursive: false, ...rootOption(file)});
	} catch (error) {
		if (!(error instanceof FileError) || isDisconnected(error)) throw error;
	}
}

async function sendOnce(
	from: UriLocation,
	to: UriLocation,
	entries: readonly ListedEntry[],
	{signal, stats, sync, overwrite}: CopyContext,
): Promise<void> {
	let written = 0;
	const countTo = (bytes: number) => {
		stats.addSentBytes(Math.max(0, bytes - written));
		written = Math.max(written, bytes);
	};
	const {sent, received} = await streamTree(from, to, {
		names: entries.map(({name}) => name),
		overwrite,
		partial: true,
		sync,
		signal,
		blockBytes: stats.pace.blockBytes,
		onProgress: ({bytes}) => countTo(bytes),
	});
	countTo(received.bytes);
	stats.addErrors(from.files, sent.errors);
	stats.addErrors(to.files, received.errors);
	const files = entries.filter(({kind}) => kind !== 'directory').length;
	stats.addCopiedFiles(Math.max(0, files - sent.errors.length - received.errors.length));
}
