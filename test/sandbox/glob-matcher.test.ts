import * as fc from 'fast-check';
import picomatch from 'picomatch';
import {describe, expect, test} from 'vitest';
import {GlobMatcher} from '../../src/sandbox/glob-matcher.js';

function matches(pattern: string, text: string, isDirectory = false): boolean {
	const matcher = new GlobMatcher(pattern);
	return matcher.isMatch(
		matcher.advance(matcher.start, text, () => {}),
		isDirectory,
	);
}

describe('a pattern', () => {
	test.each<[string, string[], string[]]>([
		['*.env', ['.env', 'a.env'], ['a/b.env', 'a.envy']],
		['a?c', ['abc', 'a😀c'], ['ac', 'a/c', 'abbc']],
		['**/*.pem', ['x.pem', 'a/b/x.pem', '.a/.pem'], ['x.pem/y']],
		['a/**/b', ['a/b', 'a/x/y/b'], ['ab', 'a/xb']],
		['a**b', ['ab', 'axxb'], ['a/b']],
		['**', ['a', 'a/b'], []],
		['a/**', ['a/b', 'a/b/c'], ['a', 'ab']],
		['[a-c]x[!0-9]', ['axy', 'bx-'], ['dxy', 'ax1', 'ax/']],
		['[]a]', [']', 'a'], ['b']],
		['[^a-]', ['b'], ['a', '-']],
		['a[b', ['a[b'], ['ab']],
		['{a,b{c,d}}.x', ['a.x', 'bc.x', 'bd.x'], ['b.x', 'a']],
		['{**/a,b}/c', ['a/c', 'x/a/c', 'b/c'], ['x/b/c']],
		[String.raw`\*\{a`, ['*{a'], ['x{a']],
		['a(b)+', ['a(b)+'], ['ab']],
	])('%s', (pattern, yes, no) => {
		for (const text of yes) expect([text, matches(pattern, text)]).toEqual([text, true]);
		for (const text of no) expect([text, matches(pattern, text)]).toEqual([text, false]);
	});

	test('of everything below a directory takes the directory as a whole', () => {
		expect([matches('a*/**', 'ab', true), matches('a*/**', 'ab', false)]).toEqual([true, false]);
	});

	test('with a brace that is not closed is none', () => {
		expect(() => new GlobMatcher('a{b,c')).toThrow(SyntaxError);
		expect(() => new GlobMatcher('{'.repeat(1024))).toThrow(SyntaxError);
	});

	test('means what another implementation says', () => {
		const piece = fc.constantFrom('a', 'b', '*', '?', '/', '[ab]', '{a,b}', '**/');
		const text = fc.array(fc.constantFrom('a', 'b', 'a/', 'b/'), {minLength: 1, maxLength: 6});
		fc.assert(
			fc.property(fc.array(piece, {minLength: 1, maxLength: 5}), text, (pieces, words) => {
				const pattern = pieces.join('');
				const path = words.join('').replace(/\/$/, '');
				// Its own ideas: stars beside stars, and slashes without a name between them.
				fc.pre(!/\*\*(?!\/)|[^/]\*\*|\*\/\*\*|^\/|\/$|\/\//.test(pattern));
				expect([pattern, path, matches(pattern, path)]).toEqual([
					pattern,
					path,
					picomatch(pattern, {dot: true, posix: true})(path),
				]);
			}),
		);
	});
});

test('the steps grow with the product of the lengths, not with the number of ways to match', () => {
	const matcher = new GlobMatcher(`${'*a'.repeat(200)}*b`);
	let steps = 0;
	const states = matcher.advance(matcher.start, 'a'.repeat(1000), spent => {
		steps += spent;
	});
	expect(matcher.isMatch(states, false)).toBe(false);
	expect(steps).toBeLessThan(1000 * 4 * 202);
});

test('a text that nothing can begin with leads nowhere', () => {
	const matcher = new GlobMatcher('a/b*');
	expect(matcher.advance(matcher.start, 'b/', () => {})).toEqual([]);
});
