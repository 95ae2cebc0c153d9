import {uriChild} from '../../../client/paths.js';
import {decodeUtf8} from '../../../protocol/path-uri/path-uri-encoding.js';
import type {Location} from '../../common/locations.js';
import {printable, printableName} from '../../common/printable.js';
import type {ListingEntry} from './listed-entries.js';

const KINDS: Record<ListingEntry['kind'], string> = {file: '-', directory: 'd', symlink: 'l', other: '?', failed: '!'};
const PERMISSIONS = ['---', '--x', '-w-', '-wx', 'r--', 'r-x', 'rw-', 'rwx'] as const;
const SIZE_COLUMN = 12;
const UNKNOWN_TIME = '?'.padEnd(19);

export interface LineOptions {
	readonly long: boolean;
	/** Names are shown to people: nothing in them may act on a terminal. */
	readonly isForTerminal: boolean;
}

/** One entry as a line of bytes, without its end. */
export function formatEntry(entry: ListingEntry, {long, isForTerminal}: LineOptions): Buffer {
	const mark = entry.kind === 'directory' && (long || isForTerminal) ? '/' : '';
	const name = nameBytes(entry.name, isForTerminal);
	if (!long) return Buffer.concat([name, Buffer.from(mark)]);
	const arrow = entry.target === undefined ? [] : [Buffer.from(' -> '), nameBytes(entry.target, isForTerminal)];
	const size = String(entry.size ?? '?').padStart(SIZE_COLUMN);
	const facts = `${KINDS[entry.kind]}${formatPermissions(entry.mode)} ${size} ${formatTime(entry.modifiedAtMs)} `;
	const complaint = entry.message === undefined ? '' : ` (${printable(entry.message)})`;
	return Buffer.concat([Buffer.from(facts), name, Buffer.from(mark), ...arrow, Buffer.from(complaint)]);
}

/** The same for programs: the URI is exact where the name is no text. */
export function toEntryObject(place: Location, entry: ListingEntry): object {
	const {name, kind, size, mode, modifiedAtMs, target, message, isRoot} = entry;
	const path = isRoot ? place.path : uriChild(place.path, name);
	return {
		name: decodeName(name),
		uri: path.href,
		kind,
		size,
		mode: mode?.toString(8).padStart(4, '0'),
		modifiedAt: modifiedAtMs === undefined ? undefined : new Date(modifiedAtMs).toISOString(),
		target: target === undefined ? undefined : decodeName(target),
		message,
	};
}

function nameBytes(name: string, isForTerminal: boolean): Buffer {
	return isForTerminal ? Buffer.from(printableName(name)) : Buffer.from(name, 'latin1');
}

function decodeName(name: string): string {
	return decodeUtf8(name) ?? Buffer.from(name, 'latin1').toString('utf8');
}

function formatPermissions(mode: number | undefined): string {
	if (mode === undefined) return '?'.repeat(9);
	return [6, 3, 0].map(shift => PERMISSIONS[(mode >> shift) & 7]!).join('');
}

/** In the time zone of this machine. */
function formatTime(ms: number | undefined): string {
	if (ms === undefined) return UNKNOWN_TIME;
	const at = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
	return at.toISOString().slice(0, 19).replace('T', ' ');
}
