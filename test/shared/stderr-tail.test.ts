import {expect, test} from 'vitest';
import {StderrTail} from '../../src/shared/stderr-tail.js';

test('keeps everything up to the limit', () => {
	const tail = new StderrTail(8);
	tail.push('ab');
	tail.push('cd\n');
	expect(tail.text).toBe('abcd\n');
});

test('keeps the end of what is longer', () => {
	const tail = new StderrTail(4);
	tail.push('abc');
	tail.push('def');
	expect(tail.text).toBe('cdef');
	tail.push('0123456789');
	expect(tail.text).toBe('6789');
});
