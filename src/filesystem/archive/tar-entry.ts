import {percentDecode} from '../../protocol/path-uri/path-uri-encoding.js';
import {bytePath, display} from '../byte-path.js';
import {refused} from '../file-errors.js';
import {EXACT_LINK, EXACT_PATH, PERMISSIONS, type TarHeader} from './tar-header.js';
import {damaged} from './transfer-outcome.js';

export interface Attributes {
	readonly mode: number;
	/** Undefined if the archive does not say, or something impossible. */
	readonly mtimeMs: number | undefined;
}

/** An entry of an archive; `names` lead to it from the root and are bytes. */
export type ArchiveEntry = {readonly names: readonly string[]; readonly attributes: Attributes} & (
	| {readonly kind: 'directory'}
	| {readonly kind: 'file'; readonly size: number}
	| {readonly kind: 'symlink'; readonly target: string}
	| {readonly kind: 'link'; readonly target: readonly string[]}
	/** Skipped; the reason is for people. */
	| {readonly kind: 'unsupported'; readonly reason: string}
);

const REPLACEMENT = '\uFFFD';
/** Beyond it no file system counts. */
const LATEST_MS = 8.64e15;

/** What a header says, if it is one that may be acted upon. Plain names have to be decoded as `latin1`. */
export function archiveEntry(header: TarHeader): ArchiveEntry {
	const size = header.size ?? 0;
	if (!Number.isSafeInteger(size) || size < 0) throw damaged('an entry has an impossible size');
	const name = exactName(header, EXACT_PATH, 'path', header.name);
	const common = {names: namesOf(name), attributes: attributesOf(header)};
	if (header.pax && Object.keys(header.pax).some(key => key.startsWith('GNU.sparse.'))) {
		return {...common, kind: 'unsupported', reason: 'sparse files of GNU tar are not unpacked'};
	}
	if (common.names.length === 0 && header.type !== 'directory') throw refused('an entry has no name');
	switch (header.type) {
		case 'directory':
			return {...common, kind: 'directory'};
		case 'file':
		case 'contiguous-file':
			// The oldest archives tell directories by their names.
			return name.endsWith('/') ? {...common, kind: 'directory'} : {...common, kind: 'file', size};
		case 'symlink':
			return {...common, kind: 'symlink', target: targetOf(header)};
		case 'link':
			return {...common, kind: 'link', target: namesOf(targetOf(header))};
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

/** Whether a name came as text in which something could not be read. */
export function isMangled({pax}: TarHeader): boolean {
	return (
		(pax?.['path']?.includes(REPLACEMENT) === true && pax[EXACT_PATH] === undefined) ||
		(pax?.['linkpath']?.includes(REPLACEMENT) === true && pax[EXACT_LINK] === undefined)
	);
}

function targetOf(header: TarHeader): string {
	const target = exactName(header, EXACT_LINK, 'linkpath', header.linkname ?? '');
	if (target === '' || target.includes('\0')) throw refused('a link of the archive leads nowhere');
	return target;
}

function exactName({pax}: TarHeader, exactKey: string, textKey: string, plain: string): string {
	const exact = pax?.[exactKey];
	if (exact !== undefined) return percentDecode(bytePath(exact));
	const text = pax?.[textKey];
	return text ? bytePath(text) : plain;
}

/** Refuses every name that could lead out of the root; `.` is the root itself. */
export function namesOf(name: string): string[] {
	const names = name.split('/').filter(part => part !== '' && part !== '.');
	if (name === '') throw refused('an entry has no name');
	if (name.startsWith('/') || name.includes('\0') || names.includes('..')) {
		throw refused(`the name \`${display(name)}\` leads out of the archive`);
	}
	return names;
}

function attributesOf({mode = 0, mtime, pax}: TarHeader): Attributes {
	const precise = Number.parseFloat(pax?.['mtime'] ?? '');
	// Times are kept to the millisecond; rounding undoes what binary fractions do to decimal ones.
	const ms = Number.isFinite(precise) ? Math.floor(Math.round(precise * 1e6) / 1e3) : mtime?.getTime();
	const isPossible = ms !== undefined && Math.abs(ms) <= LATEST_MS;
	return {mode: mode & PERMISSIONS, mtimeMs: isPossible ? ms : undefined};
}
