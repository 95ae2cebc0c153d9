import {FileError, isDisconnected} from '../../../client/files/file-error.js';
import {metadataIfExists} from '../../../client/files/file-location.js';
import type {EntryKind, Metadata} from '../../../client/files/files.js';
import {uriChild, uriName} from '../../../client/paths.js';
import {encodeUtf8} from '../../../protocol/path-uri/path-uri-encoding.js';
import {describeLocation, type Location} from '../../common/locations.js';

/** Something in a directory; what is not known is undefined. Names and targets are bytes. */
export interface ListingEntry {
	readonly name: string;
	readonly kind: EntryKind | 'failed';
	readonly size?: number | undefined;
	readonly mode?: number | undefined;
	readonly modifiedAtMs?: number | undefined;
	readonly target?: string | undefined;
	/** Whether it is the path that was asked for, not an entry in it. */
	readonly isRoot?: true;
	/** Reason why nothing more is known. */
	readonly message?: string | undefined;
}

export interface EntriesOptions {
	/** Whether sizes and times are wanted, where they cost something. */
	readonly detailed: boolean;
}

/** Requests in flight. */
const MAX_CONCURRENT_CALLS = 16;

/** A directory's content by name, or the file itself. */
export async function* listEntries(place: Location, options: EntriesOptions): AsyncGenerator<ListingEntry, void, void> {
	if (!(await place.files.supports('resume'))) {
		const {isDirectory} = await place.files.metadata(place.path);
		yield* isDirectory
			? listPlainEntries(place, options)
			: [{...toEntryFacts(await findMetadata(place)), name: uriName(place.path), isRoot: true as const}];
		return;
	}
	for await (const entry of place.files.list(place.path, {depth: 1})) {
		if (entry.name !== '') yield entry;
		else if (entry.kind === 'failed') throw new FileError('failed', entry.message, {path: describeLocation(place)});
		else if (entry.kind !== 'directory') yield {...entry, name: uriName(place.path), isRoot: true};
	}
}

/** From a server that has the methods of its peers only: names as text, and the rest asked for one by one. */
async function* listPlainEntries(
	place: Location,
	{detailed}: EntriesOptions,
): AsyncGenerator<ListingEntry, void, void> {
	const listed = await place.files.readDirectory(place.path);
	const entries = listed
		.map(({fileName, isDirectory, isFile}): ListingEntry => {
			const kind = isDirectory ? 'directory' : isFile ? 'file' : 'other';
			return {name: encodeUtf8(fileName) ?? fileName, kind};
		})
		.sort((one, other) => (one.name < other.name ? -1 : 1));
	if (!detailed) {
		yield* entries;
		return;
	}
	for (let from = 0; from < entries.length; from += MAX_CONCURRENT_CALLS) {
		yield* await Promise.all(
			entries.slice(from, from + MAX_CONCURRENT_CALLS).map(async entry => {
				const found = await findMetadata({...place, path: uriChild(place.path, entry.name)});
				return {...entry, ...(found && toEntryFacts(found))};
			}),
		);
	}
}

/** Entries that vanished and links that lead nowhere have no metadata; only a lost connection is a failure. */
function findMetadata(place: Location): Promise<Metadata | undefined> {
	return metadataIfExists(place, error => error instanceof FileError && !isDisconnected(error));
}

function toEntryFacts(metadata: Metadata | undefined): Omit<ListingEntry, 'name'> {
	if (!metadata) return {kind: 'other'};
	const {isSymlink, isDirectory, isFile, size, modifiedAtMs} = metadata;
	const kind = isSymlink ? 'symlink' : isDirectory ? 'directory' : isFile ? 'file' : 'other';
	return {kind, size, modifiedAtMs};
}
