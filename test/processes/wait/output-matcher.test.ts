import {expect, onTestFinished, test} from 'vitest';
import {OutputLog} from '../../../src/processes/output/output-log.js';
import {
	MAX_WINDOW_BYTES,
	type MatcherOptions,
	OutputMatcher,
	type PlacedMatch,
} from '../../../src/processes/wait/output-matcher.js';
import {Deferred} from '../../../src/shared/async/deferred.js';

const PLENTY = {bytes: 64 * 1024 * 1024, chunks: 1_000_000};

interface Found extends Pick<PlacedMatch, 'text' | 'groups'> {
	readonly seq: number;
}

function matching(log: OutputLog, pattern: string, afterSeq = 0) {
	const found: Found[] = [];
	const first = new Deferred<Found>();
	const matched = ({text, groups, end}: PlacedMatch): void => {
		found.push({text, groups, seq: end.seq});
		first.resolve({text, groups, seq: end.seq});
	};
	const options = {pattern, flags: '', afterSeq, afterOffset: 0, account: log};
	const matcher = new OutputMatcher(log, options, {matched, failed: first.reject});
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

function firstMatch(log: OutputLog, options: Partial<MatcherOptions>): Promise<PlacedMatch> {
	return new Promise((matched, failed) => {
		const defaults = {pattern: '', flags: '', afterSeq: 0, afterOffset: 0, account: log};
		const matcher = new OutputMatcher(log, {...defaults, ...options}, {matched, failed});
		onTestFinished(() => matcher.stop());
	});
}

test('flags of the expression count, and a match tells the byte behind it', async () => {
	const log = new OutputLog(PLENTY);
	append(log, 'one\nTW');
	append(log, '€ three');
	expect(await firstMatch(log, {pattern: '^t.€', flags: 'im'})).toEqual({
		text: 'TW€',
		groups: [],
		end: {seq: 2, offset: 3},
		isCut: false,
	});
});

test('bytes of the first event that belong to an earlier match are not matched again', async () => {
	const log = new OutputLog(PLENTY);
	append(log, 'same same');
	append(log, ' same');
	expect(await firstMatch(log, {pattern: 'same', afterOffset: 4})).toMatchObject({end: {seq: 1, offset: 9}});
	expect(await firstMatch(log, {pattern: 'same', afterOffset: 9})).toMatchObject({end: {seq: 2, offset: 5}});
});

test('a match that begins with the window tells that it may be cut', async () => {
	const log = new OutputLog(PLENTY);
	for (let count = 0; count < 8; count++) append(log, 'x'.repeat(MAX_WINDOW_BYTES / 2));
	append(log, '$ ');
	expect(await firstMatch(log, {pattern: '^[^]*\\$ '})).toMatchObject({isCut: true});
	expect(await firstMatch(log, {pattern: '\\$ '})).toMatchObject({isCut: false});
});
