import type {ProcessHandle, ReadResult} from '../process/process-handle.js';
import type {OutputPosition} from './output-window.js';

/** Output in front of a match that a result holds; what came before that is left out. */
export const MAX_BEFORE_BYTES = 1024 * 1024;
/** How much further back each attempt begins when the whole output is too long, as a factor. */
const STEP_FACTOR = 8;

/** A match in the output of a process. */
export interface OutputMatch {
	readonly text: string;
	readonly groups: readonly (string | null | undefined)[];
	/** The place behind it. */
	readonly end: OutputPosition;
	/** It may begin earlier than it could be matched. */
	readonly isCut: boolean;
}

/** A match with the output in front of it, as `waitFor` returns it. */
export interface PatternResult {
	readonly by: 'pattern';
	/** `index` and `input` count from the beginning of `before`. */
	readonly match: RegExpMatchArray;
	/** The place behind the match: `after: end` does not find it again. */
	readonly end: OutputPosition;
	/** The output in front of the match, from `after` on: 1 MiB of it at most. */
	readonly before: string;
	/**
	 * Output is missing in `before`, because it is longer or no longer retained, or in front of the match itself: a pattern
	 * is matched against the latest 64 Ki characters.
	 */
	readonly isTruncated: boolean;
}

type OutputReader = Pick<ProcessHandle, 'read'>;

/** Adds the output between `start` and a match, which is read again. */
export async function toPatternResult(
	process: OutputReader,
	pattern: RegExp,
	start: OutputPosition,
	{text, groups, end, isCut}: OutputMatch,
): Promise<PatternResult> {
	const {before, isComplete} = await readBefore(process, start, end, text);
	const match = [text, ...groups.map(group => group ?? undefined)] as RegExpMatchArray;
	const named = nameGroups(pattern, match);
	const extra = {index: before.length, input: before + text, groups: named};
	return {by: 'pattern', match: Object.assign(match, extra), end, before, isTruncated: isCut || !isComplete};
}

interface OutputRange {
	readonly bytes: Uint8Array;
	/** Nothing is missing within it. */
	readonly isComplete: boolean;
}

async function readBefore(
	process: OutputReader,
	start: OutputPosition,
	end: OutputPosition,
	text: string,
): Promise<{readonly before: string; readonly isComplete: boolean}> {
	const maxBytes = MAX_BEFORE_BYTES + new TextEncoder().encode(text).length;
	let range: OutputRange | undefined;
	try {
		range = await readRange(process, start, end, maxBytes);
	} catch {
		// The process may be gone by now; its match is not.
	}
	if (!range) return {before: '', isComplete: false};
	const output = new TextDecoder('utf-8', {ignoreBOM: true}).decode(range.bytes);
	const at = output.lastIndexOf(text);
	return {before: at < 0 ? '' : output.slice(0, at), isComplete: at >= 0 && range.isComplete};
}

/** The whole output between two places, or if that is too long as much as fits in front of the end. */
async function readRange(
	process: OutputReader,
	start: OutputPosition,
	end: OutputPosition,
	maxBytes: number,
): Promise<OutputRange | undefined> {
	const whole = await readThrough(process, start, end, maxBytes);
	if (whole) return whole;
	let latest: OutputRange | undefined;
	for (let events = 1; end.seq - events >= start.seq; events *= STEP_FACTOR) {
		const range = await readThrough(process, {seq: end.seq - events, offset: 0}, end, maxBytes);
		if (!range) break;
		latest = {...range, isComplete: false};
	}
	return latest;
}

/** Undefined if the end is out of reach: the output is longer, or not retained. */
async function readThrough(
	process: OutputReader,
	start: OutputPosition,
	end: OutputPosition,
	maxBytes: number,
): Promise<OutputRange | undefined> {
	const lastSeq = end.offset === 0 ? end.seq - 1 : end.seq;
	const {chunks} = await process.read({afterSeq: Math.max(0, start.seq - 1), maxBytes});
	const wanted = chunks.filter(({seq}) => seq <= lastSeq);
	if (wanted.at(-1)?.seq !== lastSeq) return undefined;
	const isComplete = wanted.every(({seq}, index) => seq === Math.max(1, start.seq) + index);
	return {bytes: joinBytes(wanted.map(chunk => cutChunk(chunk, start, end))), isComplete};
}

function cutChunk({seq, chunk}: ReadResult['chunks'][number], start: OutputPosition, end: OutputPosition): Uint8Array {
	return chunk.subarray(seq === start.seq ? start.offset : 0, seq === end.seq ? end.offset : undefined);
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
	const joined = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
	let at = 0;
	for (const piece of pieces) {
		joined.set(piece, at);
		at += piece.length;
	}
	return joined;
}

/** Undefined for an expression without named groups. */
function nameGroups(pattern: RegExp, match: readonly (string | undefined)[]): Record<string, string> | undefined {
	const names = listGroupNames(pattern);
	if (names.every(name => name === undefined)) return undefined;
	const named = Object.create(null) as Record<string, string>;
	for (const [index, name] of names.entries()) {
		// A name may stand for groups of several alternatives, of which one has matched.
		if (name !== undefined) named[name] = (match[index + 1] ?? named[name]) as string;
	}
	return named;
}

/** The name of each group, in order; undefined for one without a name. Reads the expression instead of running it. */
function listGroupNames({source, flags}: RegExp): (string | undefined)[] {
	const names: (string | undefined)[] = [];
	// A backslash and its character, a bracket, or the beginning of a group.
	const tokens = /\\.|[[\]]|\((?:\?<(?![=!])([^>]+)>|(?!\?))/gs;
	let classDepth = 0;
	for (const {0: token, 1: name} of source.matchAll(tokens)) {
		if (token === '[') classDepth = flags.includes('v') ? classDepth + 1 : 1;
		else if (token === ']') classDepth = Math.max(0, classDepth - 1);
		else if (token.startsWith('(') && classDepth === 0) names.push(name);
	}
	return names;
}
