import {errorMessage, LongarmError} from '../../shared/errors.js';
import {LimitedThreads, ThreadTimeoutError} from '../../shared/node/limited-threads.js';
import {startWorker} from '../../shared/node/worker-file.js';
import type {FromPatternWorker, ToPatternWorker} from './pattern-messages.js';

/** Characters of a regular expression. */
export const MAX_PATTERN_CHARS = 1024;
/** Flags of a regular expression that have a meaning for one match. */
const PATTERN_FLAGS = /^[imsuv]*$/;
/** Flags with which reading an expression can take seconds: sets of Unicode characters are computed then. */
const UNICODE_FLAGS = /[uv]/;
/** Threads that match regular expressions, of all accounts; an account uses one at a time. */
export const MAX_PATTERN_THREADS = 4;
/** Characters of flags that an error shows. */
const MAX_SHOWN_FLAGS = 16;
/** Time for matching one piece of text; a regular expression can run for ever. */
export const MAX_MATCH_MS = 1000;

/**
 * Throws for an expression that cannot be read, so that the request fails before anything is matched. Expressions with
 * Unicode sets are read in a thread: `readPattern`.
 */
export function requireValidPattern(pattern: string, flags = ''): void {
	if (pattern.length > MAX_PATTERN_CHARS) {
		throw patternError(pattern, `is longer than ${MAX_PATTERN_CHARS} characters`);
	}
	if (!PATTERN_FLAGS.test(flags))
		throw patternError(pattern, `cannot have the flags ${flags.slice(0, MAX_SHOWN_FLAGS)}`);
	if (UNICODE_FLAGS.test(flags)) return;
	try {
		RegExp(pattern, flags);
	} catch (error) {
		throw patternError(pattern, `cannot be read: ${errorMessage(error)}`);
	}
}

/** Undefined for an expression that `requireValidPattern` has read; else settles when a thread has read it. */
export function readPattern(pattern: string, flags: string, account: unknown): Promise<unknown> | undefined {
	if (!UNICODE_FLAGS.test(flags)) return undefined;
	return patternThreads.run(account, pattern, () => ({kind: 'match', pattern, flags, bytes: new Uint8Array()})).answer;
}

function patternError(pattern: string, problem: string): LongarmError {
	return new LongarmError('PATTERN_INVALID', {message: `the pattern ${problem}`, context: {pattern}});
}

/** Undefined when there was no work. */
export type PatternAnswer = Exclude<FromPatternWorker, {kind: 'failed'}> | undefined;

/** Pool of threads for regular expressions of clients. Accounts take turns, with one piece of work each. */
export class PatternThreads {
	readonly #threads = new LimitedThreads<ToPatternWorker, FromPatternWorker>({
		start: () => startWorker('pattern-worker.js', import.meta.url),
		maxThreads: MAX_PATTERN_THREADS,
		maxMs: MAX_MATCH_MS,
		listTransfers: work => (work.kind === 'match' ? [work.bytes.buffer as ArrayBuffer] : []),
	});

	/** Threads that exist, with work or without. */
	get size(): number {
		return this.#threads.size;
	}

	/**
	 * The answer to the work that `prepare` returns; undefined if it returns none. Rejects with PATTERN_INVALID if the
	 * expression takes too long. Work that is cancelled before its turn never settles.
	 */
	run(
		account: unknown,
		pattern: string,
		prepare: () => ToPatternWorker | undefined,
	): {readonly answer: Promise<PatternAnswer>; readonly cancel: () => void} {
		const {answer, cancel} = this.#threads.run(account, pattern, prepare);
		return {answer: toPatternAnswer(pattern, answer), cancel};
	}
}

async function toPatternAnswer(
	pattern: string,
	answer: Promise<FromPatternWorker | undefined>,
): Promise<PatternAnswer> {
	let answered: FromPatternWorker | undefined;
	try {
		answered = await answer;
	} catch (error) {
		throw error instanceof ThreadTimeoutError ? patternError(pattern, 'takes too long to match') : error;
	}
	if (answered?.kind === 'failed') throw patternError(pattern, `cannot be used: ${answered.message}`);
	return answered;
}

/** The threads of this program. */
export const patternThreads = new PatternThreads();
