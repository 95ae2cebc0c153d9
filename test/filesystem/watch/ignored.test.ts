import {expect, test} from 'vitest';
import {compileIgnoreRules} from '../../../src/filesystem/watch/ignored.js';

test('rules leave alone what they name, and only that', () => {
	const ignored = compileIgnoreRules(['node_modules', '**/build/**', '!keep']);
	expect(ignored('node_modules', true)).toBe(true);
	expect(ignored('deep/build/x', false)).toBe(true);
	expect(ignored('src/x.ts', false)).toBe(false);
});

test('a rule that would take seconds to match a deep path is refused', () => {
	expect(() => compileIgnoreRules(['**/a/**/b/**'])).toThrow('more than 2 double stars');
});
