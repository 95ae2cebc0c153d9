// covers: src/mcp/server/tools/replace-text.ts
import {expect, test} from 'vitest';
import {replaceText} from '../../../src/mcp/server/tools/replace-text.js';

const after = (text: string, old: string, replacement: string): string => replaceText(text, old, replacement).after;

test('a text matches whatever the line ends of the file are, and what is put in takes those of its place', () => {
	expect(after('a\r\nb\r\n', 'a\nb', 'x\ny')).toBe('x\r\ny\r\n');
	expect(after('a\r\nb', 'b', 'x\ny')).toBe('a\r\nx\r\ny');
	expect(after('a\nb\nc\r\nd\r\n', 'a\nb', 'x\ny')).toBe('x\ny\nc\r\nd\r\n');
	expect(after('a\nb\nc\r\nd\r\n', 'c\nd', 'x\ny')).toBe('a\nb\nx\r\ny\r\n');
	expect(after('a\nb\r\nc', 'a\nb\nc', 'x\ny')).toBe('x\ny');
	expect(after('a\r\nb', '\nb', '')).toBe('a');
});

test('a file with newlines only is changed as it is told to, and CRLF in old matches it', () => {
	expect(after('a\nb\n', 'a', 'x\r\ny')).toBe('x\r\ny\nb\n');
	expect(after('a\nb\n', 'a\r\nb', 'x\r\ny')).toBe('x\ny\n');
});

test('a carriage return of its own is taken as it is', () => {
	expect(after('a\rb\r\n', 'a\rb', 'c')).toBe('c\r\n');
	expect(after('a\r\nb', 'a\r\n', 'c\n')).toBe('c\r\nb');
});

test('places are counted with their line, and many of them take no long time', () => {
	expect(replaceText('a\r\nb\r\nb\r\n', 'b\n', '')).toEqual({count: 2, line: 2, after: 'a\r\n'});
	expect(replaceText('a\r\n', 'z', '')).toMatchObject({count: 0, after: 'a\r\n'});
	const long = `x\r\n${'ab'.repeat(500_000)}`;
	expect(replaceText(long, 'b', 'c\n').count).toBe(500_000);
});
