import {percentDecode} from '../../protocol/path-uri/path-uri-encoding.js';
import {bytePath} from '../byte-path.js';
import {refusedError} from '../file-errors.js';
import {splitRelativePath} from './directory-chain.js';
import {EXACT_LINK, EXACT_PATH, PERMISSIONS, type TarHeader} from './tar-header.js';
import {damagedError} from './transfer-outcome.js';

export interface Attributes {
	readonly mode: number;
	/** Undefined if the archive has none, or an impossible one. */
	readonly mtimeMs: number | undefined;
}

/** Entry of an archive; `names` are the components of its path, as binary strings. */
export type ArchiveEntry = {readonly names: readonly string[]; readonly attributes: Attributes} & (
	| {readonly kind: 'directory'}
	| {readonly kind: 'file'; readonly size: number}
	| {readonly kind: 'symlink'; readonly target: string}
	| {readonly kind: 'link'; readonly target: readonly string[]}
	/** Skipped; the reason is for messages. */
	| {readonly kind: 'unsupported'; readonly reason: string}
);

const REPLACEMENT = '\uFFFD';
/** Largest time of a Date, beyond that of any file system. */
const MAX_TIME_MS = 8.64e15;

/** Validates a header and converts it. Plain names have to be decoded as `latin1`. */
export function toArchiveEntry(header: TarHeader): ArchiveEntry {
	const size = header.size ?? 0;
	if (!Number.isSafeInteger(size) || size < 0) throw damagedError('an entry has an impossible size');
	const name = readExactName(header, EXACT_PATH, 'path', header.name);
	const common = {names: splitRelativePath(name), attributes: readAttributes(header)};
	if (header.pax && Object.keys(header.pax).some(key => key.startsWith('GNU.sparse.'))) {
		return {...common, kind: 'unsupported', reason: 'sparse files of GNU tar are not unpacked'};
	}
	if (common.names.length === 0 && header.type !== 'directory') throw refusedError('an entry has no name');
	switch (header.type) {
		case 'directory':
			return {...common, kind: 'directory'};
		case 'file':
		case 'contiguous-file':
			// The oldest archives mark directories by a trailing slash only.
			return name.endsWith('/') ? {...common, kind: 'directory'} : {...common, kind: 'file', size};
		case 'symlink':
			return {...common, kind: 'symlink', target: readLinkTarget(header)};
		case 'link':
			return {...common, kind: 'link', target: splitRelativePath(readLinkTarget(header))};
		case 'character-device':
		case 'block-device':
		case 'fifo':
			return {...common, kind: 'unsupported', reason: 'special files are not unpacked'};
		case 'pax-header':
		case 'pax-global-header':
		case 'gnu-long-path':
		case 'gnu-long-link-path':
		case undefined:
		case null:
			return {...common, kind: 'unsupported', reason: 'an entry of this type is not unpacked'};
	}
}

/** True if a name contains replacement characters and the exact bytes are not recorded. */
export function isMangled({pax}: TarHeader): boolean {
	return (
		(pax?.['path']?.includes(REPLACEMENT) === true && pax[EXACT_PATH] === undefined) ||
		(pax?.['linkpath']?.includes(REPLACEMENT) === true && pax[EXACT_LINK] === undefined)
	);
}

function readLinkTarget(header: TarHeader): string {
	const target = readExactName(header, EXACT_LINK, 'linkpath', header.linkname ?? '');
	if (target === '' || target.includes('\0')) throw refusedError('a link of the archive leads nowhere');
	return target;
}

function readExactName({pax}: TarHeader, exactKey: string, textKey: string, plain: string): string {
	const exact = pax?.[exactKey];
	if (exact !== undefined) return percentDecode(bytePath(exact));
	const text = pax?.[textKey];
	return text ? bytePath(text) : plain;
}

function readAttributes({mode = 0, mtime, pax}: TarHeader): Attributes {
	const precise = Number.parseFloat(pax?.['mtime'] ?? '');
	// Times are kept to the millisecond; rounding undoes what binary fractions do to decimal ones.
	const ms = Number.isFinite(precise) ? Math.floor(Math.round(precise * 1e6) / 1e3) : mtime?.getTime();
	const isPossible = ms !== undefined && Math.abs(ms) <= MAX_TIME_MS;
	return {mode: mode & PERMISSIONS, mtimeMs: isPossible ? ms : undefined};
}
