import {expect, test} from 'vitest';
import {coversEnvironment} from '../../src/hub/store/hub-tokens.js';
import {matchesWildcards} from '../../src/shared/wildcards.js';

test.each([
	['box', 'box', true],
	['box', 'box1', false],
	['box*', 'box', true],
	['*-ci', 'linux-ci', true],
	['a*b*c', 'a1b2b3c', true],
	['a*b*c', 'a1c', false],
	['b?x', 'box', true],
	['b.x', 'box', false],
	['**', '', true],
])('the pattern %s and the name %s: %s', (pattern, name, expected) => {
	expect(matchesWildcards(pattern, name)).toBe(expected);
});

test('a pattern of a token with many wildcards is decided at once', () => {
	// A regular expression would try about 2^63 ways to share the letters out.
	expect(coversEnvironment({pattern: `${'*a'.repeat(31)}*b`}, 'a'.repeat(64))).toBe(false);
	expect(coversEnvironment({pattern: `${'*a'.repeat(31)}*`}, 'a'.repeat(64))).toBe(true);
});
