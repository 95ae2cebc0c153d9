import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {EventTooLargeError, SseParser} from '../../src/agent-loop/model/sse-parser.js';

/** Data of all events of a stream that comes in these chunks. */
function parse(chunks: readonly (string | Uint8Array)[], maxCharacters?: number): string[] {
	const parser = new SseParser(maxCharacters);
	return [...chunks.flatMap(chunk => parser.push(Buffer.from(chunk))), ...parser.end()];
}

test('names, ids, comments and unknown fields of events are skipped', () => {
	expect(parse(['event: a\nid: 1\n: hello\nretry: 5\ndata: one\n\n', 'database: no\n\n', 'data:two\n\n'])).toEqual([
		'one',
		'two',
	]);
});

test('lines of data are joined, and one space in front of each is dropped', () => {
	expect(parse(['data: a\ndata:  b\ndata\ndata:\n\n'])).toEqual(['a\n b\n\n']);
});

test('lines end with a line feed, a carriage return or both, also when a chunk ends in between', () => {
	expect(parse(['data: a\r\n\r\ndata: b\r\rdata: c\n\n'])).toEqual(['a', 'b', 'c']);
	expect(parse(['data: a\r', '\n', '\r', '\ndata: b\r', '\r', 'data: c\n', '\n'])).toEqual(['a', 'b', 'c']);
});

test('a byte order mark in front and an event without its blank line at the end are no obstacle', () => {
	expect(parse(['\uFEFFdata: a\n\ndata: b'])).toEqual(['a', 'b']);
});

test('events come out the same, wherever the stream is cut', () => {
	const text = fc.string({unit: 'grapheme', maxLength: 20}).map(value => value.replaceAll(/[\r\n]/g, ' '));
	const stream = fc.array(fc.array(text, {minLength: 1, maxLength: 3}), {maxLength: 5});
	fc.assert(
		fc.property(stream, fc.constantFrom('\n', '\r\n', '\r'), fc.infiniteStream(fc.nat(7)), (events, end, sizes) => {
			const lines = events.map(each => each.map(line => `data: ${line}${end}`).join('') + end);
			const bytes = Buffer.from(`event: x${end}${lines.join('')}`);
			const chunks: Uint8Array[] = [];
			for (let from = 0; from < bytes.length; ) {
				const size = 1 + (sizes.next().value as number);
				chunks.push(bytes.subarray(from, from + size));
				from += size;
			}
			expect(parse(chunks)).toEqual(events.map(each => each.join('\n')));
		}),
	);
});

test('an event beyond the bound is refused, in one line or in many, and events below it are not counted together', () => {
	expect(() => parse(['data: 12345', '6789'], 10)).toThrow(EventTooLargeError);
	expect(() => parse(['data: 1234\n', 'data: 5678\n', 'data: 9012\n'], 20)).toThrow(EventTooLargeError);
	expect(() =>
		parse(
			Array.from({length: 11}, () => 'data:\n'),
			60,
		),
	).toThrow(EventTooLargeError);
	expect(parse(['data: 1234\n\n', 'data: 5678\n\n', 'data: 9012\n\n'], 13)).toEqual(['1234', '5678', '9012']);
});
