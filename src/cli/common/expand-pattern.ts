import {FileError, isDisconnected} from '../../client/files/file-error.js';
import {metadataIfExists} from '../../client/files/file-location.js';
import {uriChild} from '../../client/paths.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {decodeUtf8} from '../../protocol/path-uri/path-uri-encoding.js';
import {GlobMatcher} from '../../sandbox/glob-matcher.js';
import {type ListingEntry, listEntries} from '../commands/ls/listed-entries.js';
import {usageError} from '../exit-codes.js';
import type {Location, ParsedLocation} from './locations.js';
import {printable} from './printable.js';

/** Paths one pattern may stand for. */
const MAX_PATTERN_MATCHES = 10_000;
/** Directories that are listed for one pattern. */
const MAX_LISTED_DIRECTORIES = 1000;
const SPECIAL = /[*?[]/;

function looksLikePattern(path: string): boolean {
	return SPECIAL.test(path);
}

/**
 * The paths of an environment a pattern stands for, in the order of their names; the path itself if it exists, or nothing
 * matches. As in a shell a pattern stays within one name, and names with a dot in front have to be asked for with one.
 */
export async function expandPattern(place: ParsedLocation): Promise<readonly ParsedLocation[]> {
	if (place.path.convention !== 'posix' || (await exists(place))) return [place];
	const walk = new PatternWalk(place);
	const names = place.path.toBinary('posix').split('/').filter(Boolean);
	let paths = [PathUri.fromBinary('/')];
	for (const [at, name] of names.entries()) {
		const isLast = at === names.length - 1;
		paths = looksLikePattern(name)
			? await walk.match(paths, name, !isLast || place.isMeantAsDirectory)
			: paths.map(path => uriChild(path, name));
	}
	const last = names.at(-1) ?? '';
	const found = looksLikePattern(last) ? paths : await walk.filterExisting(paths);
	if (found.length === 0) return [place];
	return found.map(path => ({
		...place,
		path,
		given: path.toBinary('posix'),
		isMatched: true,
		isMeantAsContents: false,
	}));
}

class PatternWalk {
	readonly #place: ParsedLocation;
	#listed = 0;

	constructor(place: ParsedLocation) {
		this.#place = place;
	}

	/** Entries of directories that a name with special characters stands for: itself, where there is such an entry. */
	async match(directories: readonly PathUri[], pattern: string, onlyDirectories: boolean): Promise<PathUri[]> {
		const isMatch = compile(pattern);
		const found: PathUri[] = [];
		for (const path of directories) {
			const entries = await this.#list({...this.#place, path});
			const itself = entries.filter(({name}) => name === pattern);
			const matching = itself.length > 0 ? itself : entries.filter(({name}) => isMatch(name));
			for (const {name, kind} of matching) {
				if (!onlyDirectories || kind === 'directory' || kind === 'symlink') found.push(uriChild(path, name));
			}
			if (found.length > MAX_PATTERN_MATCHES) throw this.#tooMuchError(`more than ${MAX_PATTERN_MATCHES} files match`);
		}
		return found;
	}

	async filterExisting(paths: readonly PathUri[]): Promise<PathUri[]> {
		const found: PathUri[] = [];
		for (const path of paths) if (await exists({...this.#place, path})) found.push(path);
		return found;
	}

	/** Nothing for what is no directory, or cannot be listed. */
	async #list(directory: Location): Promise<ListingEntry[]> {
		if (++this.#listed > MAX_LISTED_DIRECTORIES) {
			throw this.#tooMuchError(`more than ${MAX_LISTED_DIRECTORIES} directories would have to be listed`);
		}
		const entries: ListingEntry[] = [];
		try {
			for await (const entry of listEntries(directory, {detailed: false})) if (!entry.isRoot) entries.push(entry);
		} catch (error) {
			if (!(error instanceof FileError) || isDisconnected(error)) throw error;
		}
		return entries;
	}

	#tooMuchError(why: string): Error {
		return usageError(`\`${printable(this.#place.given)}\`: ${why}`);
	}
}

/**
 * Tests a name, one character for each byte. The other machine may answer with any name: none is taken that the pattern
 * does not match, or that leads elsewhere. A pattern that cannot be parsed matches nothing.
 */
function compile(pattern: string): (name: string) => boolean {
	try {
		const matcher = new GlobMatcher((decodeUtf8(pattern) ?? pattern).replaceAll(/\*{2,}/g, '*'));
		return name => {
			if (name === '.' || name === '..' || name.includes('/')) return false;
			if (name.startsWith('.') && !pattern.startsWith('.')) return false;
			return matcher.isMatch(
				matcher.advance(matcher.start, decodeUtf8(name) ?? name, () => {}),
				true,
			);
		};
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
		return () => false;
	}
}

async function exists(place: Location): Promise<boolean> {
	return (await metadataIfExists(place, isMissing)) !== undefined;
}

function isMissing(error: unknown): boolean {
	return error instanceof FileError && !isDisconnected(error);
}
