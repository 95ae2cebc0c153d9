import {expect, onTestFinished, test} from 'vitest';
import {OutputLog} from '../../../src/processes/output/output-log.js';
import {MAX_WINDOW_BYTES, OutputMatcher} from '../../../src/processes/wait/output-matcher.js';
import type {PatternMatch} from '../../../src/processes/wait/pattern-messages.js';
import {Deferred} from '../../../src/shared/async/deferred.js';

const PLENTY = {bytes: 64 * 1024 * 1024, chunks: 1_000_000};

interface Found extends Pick<PatternMatch, 'text' | 'groups'> {
	readonly seq: number;
}

function matching(log: OutputLog, pattern: string, afterSeq = 0) {
	const found: Found[] = [];
	const first = new Deferred<Found>();
	const matched = ({text, groups}: PatternMatch, seq: number): void => {
		found.push({text, groups, seq});
		first.resolve({text, groups, seq});
	};
	const matcher = new OutputMatcher(log, {pattern, afterSeq, account: log}, {matched, failed: first.reject});
	onTestFinished(() => matcher.stop());
	const passes = (seq: number) =>
		new Promise<number>(resolve => matcher.whenPast(seq, () => resolve(matcher.lookedSeq)));
	return {first: first.promise, found, passes};
}

const append = (log: OutputLog, text: string | Buffer): void => log.append('stdout', Buffer.from(text as string));

test('a match is found in output that is there, and in output that comes', async () => {
	const log = new OutputLog(PLENTY);
	append(log, 'one two');
	expect(await matching(log, 't(w)(x)?o').first).toEqual({text: 'two', groups: ['w', null], seq: 1});
	const {first} = matching(log, 'four', 1);
	append(log, ' three');
	append(log, ' four');
	expect(await first).toEqual({text: 'four', groups: [], seq: 3});
});

test('a match over several chunks ends with the event that completes it, in the middle of a character too', async () => {
	const log = new OutputLog(PLENTY);
	const bytes = Buffer.from('ab€cd');
	for (const byte of bytes) append(log, Buffer.of(byte));
	append(log, 'more');
	expect(await matching(log, 'b€').first).toEqual({text: 'b€', groups: [], seq: 5});
	expect(await matching(log, 'b').first).toMatchObject({seq: 2});
});

test('only output after an event is matched', async () => {
	const log = new OutputLog(PLENTY);
	append(log, 'same');
	append(log, 'same');
	expect(await matching(log, 'same').first).toMatchObject({seq: 1});
	expect(await matching(log, 'same', 1).first).toMatchObject({seq: 2});
});

test('a match begins as far back as the window is long, however much is matched at once', async () => {
	const log = new OutputLog(PLENTY);
	append(log, 'x'.repeat(1000));
	const {first, passes} = matching(log, 'begin[^]*end');
	append(log, 'begin');
	for (let count = 0; count < 8; count++) append(log, '-'.repeat(MAX_WINDOW_BYTES / 8 - 2));
	await passes(10);
	append(log, 'end');
	expect((await first).seq).toBe(11);
});

test('all of a long log is looked at', async () => {
	const log = new OutputLog(PLENTY);
	for (let count = 0; count < 100; count++) append(log, '-'.repeat(64 * 1024));
	append(log, 'needle');
	for (let count = 0; count < 100; count++) append(log, '-'.repeat(64 * 1024));
	expect(await matching(log, 'needle').first).toEqual({text: 'needle', groups: [], seq: 101});
});

test('output on both sides of a gap is not matched as one', async () => {
	const log = new OutputLog({bytes: 8, chunks: 1000});
	append(log, 'begin---');
	append(log, '--------');
	append(log, 'end');
	const {found, passes} = matching(log, 'begin-*end');
	expect(await passes(3)).toBe(3);
	expect(found).toEqual([]);
});

test('an exit and the close are looked at like output', async () => {
	const log = new OutputLog(PLENTY);
	append(log, 'text');
	const {found, passes} = matching(log, 'other');
	log.recordExit({exitCode: 0, reason: 'exit'});
	log.recordClose();
	expect(await passes(3)).toBe(3);
	expect(found).toEqual([]);
});
