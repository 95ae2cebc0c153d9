import {FileError} from '../file-error.js';
import {childLocation, type UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import type {CopyContext} from './copy-context.js';
import {streamTree} from './stream-tree.js';

/** Times that a stream which arrived damaged is sent again. */
const MAX_REPAIRS = 2;

/** Sends a batch of entries of a tree as one stream, which replaces existing ones; both ends compare its checksum. */
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
			if (repairs < MAX_REPAIRS) continue;
			await removeFiles(to, entries);
			throw error;
		}
	}
}

/** Which files are damaged is not known, and the next attempt would skip all of them. */
async function removeFiles(to: UriLocation, entries: readonly ListedEntry[]): Promise<void> {
	for (const {name, kind} of entries) {
		if (kind === 'file') await to.files.remove(childLocation(to, name).path, {recursive: false});
	}
}

async function sendOnce(
	from: UriLocation,
	to: UriLocation,
	entries: readonly ListedEntry[],
	{signal, stats}: CopyContext,
): Promise<void> {
	let written = 0;
	const countTo = (bytes: number) => {
		stats.addSentBytes(Math.max(0, bytes - written));
		written = Math.max(written, bytes);
	};
	const {sent, received} = await streamTree(from, to, {
		names: entries.map(({name}) => name),
		overwrite: true,
		partial: true,
		signal,
		onProgress: ({bytes}) => countTo(bytes),
	});
	countTo(received.bytes);
	stats.addErrors(from.files, sent.errors);
	stats.addErrors(to.files, received.errors);
	const files = entries.filter(({kind}) => kind !== 'directory').length;
	stats.addCopiedFiles(Math.max(0, files - sent.errors.length - received.errors.length));
}
