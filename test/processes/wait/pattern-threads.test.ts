import {expect, test, vi} from 'vitest';
import {grepLines} from '../../../src/processes/wait/grep-lines.js';
import type {ToPatternWorker} from '../../../src/processes/wait/pattern-messages.js';
import {
	MAX_PATTERN_CHARS,
	MAX_PATTERN_THREADS,
	PatternThreads,
	readPattern,
	requireValidPattern,
} from '../../../src/processes/wait/pattern-threads.js';
import {IDLE_THREAD_MS} from '../../../src/shared/node/limited-threads.js';
import {stopClock} from '../../helpers/clock.js';
import {failureOf} from '../../helpers/waiting.js';

const HOSTILE = '^(a+)+$';
const EVIL_LINE = `${'a'.repeat(60)}!`;
const TOO_LONG = expect.objectContaining({
	code: 'PATTERN_INVALID',
	message: 'the pattern takes too long to match',
}) as unknown;

const filter = (pattern: string, text: string) => (): ToPatternWorker => ({kind: 'filter', pattern, text});

test('a pattern that never ends fails with others like it, and work of all accounts goes on', async () => {
	const threads = new PatternThreads();
	const run = (account: string, pattern: string, text: string) => threads.run(account, pattern, filter(pattern, text));
	const hostile = [run('one', HOSTILE, EVIL_LINE), run('one', HOSTILE, EVIL_LINE)].map(({answer}) => failureOf(answer));
	const behind = run('one', 'b', 'a\nb\nab');
	expect(threads.size).toBe(1);
	expect(await run('two', 'a', 'a\nb').answer).toEqual({kind: 'filter', kept: [0]});
	expect(threads.size).toBe(2);
	expect(await Promise.all(hostile)).toEqual([TOO_LONG, TOO_LONG]);
	expect(await behind.answer).toEqual({kind: 'filter', kept: [1, 2]});
});

test('there are as many threads as are allowed, and an account that waits gets the next', async () => {
	const threads = new PatternThreads();
	const hostile = Array.from({length: MAX_PATTERN_THREADS}, (_, account) =>
		failureOf(threads.run(account, HOSTILE, filter(HOSTILE, EVIL_LINE)).answer),
	);
	const prepare = vi.fn<() => ToPatternWorker>(filter('x', 'x'));
	const waiting = threads.run('honest', 'x', prepare);
	expect(threads.size).toBe(MAX_PATTERN_THREADS);
	expect(prepare).not.toHaveBeenCalled();
	expect(await waiting.answer).toEqual({kind: 'filter', kept: [0]});
	expect(await Promise.all(hostile)).toEqual(hostile.map(() => TOO_LONG));
});

test('work that is cancelled in the queue is never prepared', async () => {
	const threads = new PatternThreads();
	const first = threads.run('one', 'x', filter('x', 'x'));
	const prepare = vi.fn<() => ToPatternWorker>(filter('x', 'x'));
	threads.run('one', 'x', prepare).cancel();
	await first.answer;
	await threads.run('one', 'x', filter('x', 'x')).answer;
	expect(prepare).not.toHaveBeenCalled();
});

test('a thread without work ends after a while', async () => {
	stopClock();
	const threads = new PatternThreads();
	await threads.run('one', 'x', filter('x', 'x')).answer;
	expect(threads.size).toBe(1);
	vi.advanceTimersByTime(IDLE_THREAD_MS);
	expect(threads.size).toBe(0);
});

const refused = (message: string) => expect.objectContaining({code: 'PATTERN_INVALID', message}) as Error;

test('a pattern that cannot be read, or is too long, is refused', () => {
	expect(() => requireValidPattern('(')).toThrow(
		refused('the pattern cannot be read: Invalid regular expression: /(/: Unterminated group'),
	);
	expect(() => requireValidPattern('x'.repeat(MAX_PATTERN_CHARS + 1))).toThrow(
		refused(`the pattern is longer than ${MAX_PATTERN_CHARS} characters`),
	);
	expect(() => requireValidPattern('x'.repeat(MAX_PATTERN_CHARS))).not.toThrow();
});

test('a pattern with sets of Unicode characters, which can take seconds to read, is read in a thread', async () => {
	const pattern = `[\\p{RGI_Emoji}--${'\\p{RGI_Emoji}--'.repeat(65)}a]`;
	const before = performance.now();
	requireValidPattern(pattern, 'iv');
	expect(performance.now() - before).toBeLessThan(500);
	// Whether it takes too long depends on the machine.
	await Promise.allSettled([readPattern(pattern, 'iv', 'one')]);
	expect(await failureOf(readPattern('\\p{Nothing}', 'u', 'one')!)).toMatchObject({code: 'PATTERN_INVALID'});
	expect(await readPattern('\\p{L}', 'u', 'one')).toEqual({kind: 'match', match: undefined});
});

test('groups that match much more than there is are refused', async () => {
	const threads = new PatternThreads();
	const pattern = `${'('.repeat(100)}[^]*${')'.repeat(100)}`;
	const bytes = new Uint8Array(64 * 1024);
	const {answer} = threads.run('one', pattern, () => ({kind: 'match', pattern, flags: '', bytes}));
	expect(await failureOf(answer)).toMatchObject({
		code: 'PATTERN_INVALID',
		message: 'the pattern cannot be used: its groups match too much',
	});
});

test('lines are kept by their index, over more than one batch', async () => {
	const lines = Array.from({length: 20_000}, (_, index) => `line ${index}`);
	expect(await grepLines('^line (?:7|19999)$', lines, 'one')).toEqual([7, 19_999]);
	expect(await grepLines('x', [], 'one')).toEqual([]);
	expect(await grepLines('^$', ['', 'a', ''], 'one')).toEqual([0, 2]);
	expect(await failureOf(grepLines(HOSTILE, ['a', EVIL_LINE], 'one'))).toEqual(TOO_LONG);
});
