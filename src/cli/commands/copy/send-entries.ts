import {FileError} from '../../../client/files/file-error.js';
import type {ListedEntry, TransferOutcome} from '../../../client/files/files.js';
import {uriChild} from '../../../client/paths.js';
import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {printableReason} from '../../common/printable.js';
import type {CopyContext} from './copy-context.js';

/** How often a stream that did not arrive as it was sent is sent again. */
const MAX_REPAIRS = 2;

/** Entries of a tree as one stream, in place of what is there; the ends compare its checksum. */
export async function sendEntries(
	from: Location,
	to: Location,
	entries: readonly ListedEntry[],
	context: CopyContext,
): Promise<void> {
	context.stats.send(entries.map(({name}) => name));
	for (let repairs = 0; ; repairs++) {
		try {
			await send(from, to, entries, context);
			return;
		} catch (error) {
			if (!(error instanceof FileError) || error.code !== 'damaged') throw error;
			if (repairs < MAX_REPAIRS) continue;
			await discard(to, entries);
			throw error;
		}
	}
}

/** Nobody knows which of them are damaged, and what is there under its name counts as copied. */
async function discard(to: Location, entries: readonly ListedEntry[]): Promise<void> {
	for (const {name, kind} of entries) {
		if (kind === 'file') await to.files.remove(uriChild(to.path, name), {recursive: false});
	}
}

async function send(
	from: Location,
	to: Location,
	entries: readonly ListedEntry[],
	{signal, stats}: CopyContext,
): Promise<void> {
	const packed = await from.files.pack(from.path, {names: entries.map(({name}) => name), signal});
	let reached = 0;
	let isPiped = false;
	try {
		const unpacked = await to.files.unpack(to.path, {
			overwrite: true,
			partial: true,
			signal,
			checksum: async () => (await packed.outcome).sha256,
			progress: ({bytes}) => {
				stats.move(Math.max(0, bytes - reached));
				reached = Math.max(reached, bytes);
			},
		});
		isPiped = true;
		await packed.stream.pipeTo(unpacked.stream, {signal});
		const [sent, received] = await Promise.all([packed.outcome, unpacked.outcome]);
		stats.move(Math.max(0, received.bytes - reached));
		tell(from, sent, stats);
		tell(to, received, stats);
		const files = entries.filter(({kind}) => kind !== 'directory').length;
		stats.copied(Math.max(0, files - sent.errors.length - received.errors.length));
	} finally {
		// A pipe gives back both of its ends; without one there is nobody else to do it.
		if (!isPiped) await packed.stream.cancel();
	}
}

function tell(place: Location, {errors}: TransferOutcome, stats: CopyContext['stats']): void {
	for (const {path, message} of errors) {
		stats.fail(describeLocation({...place, path: PathUri.parse(path)}), printableReason(message));
	}
}
