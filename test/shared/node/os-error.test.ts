import {constants} from 'node:os';
import {expect, test} from 'vitest';
import {osErrorName, osErrorText} from '../../../src/shared/node/os-error.js';

const {errno} = constants;

test.each([
	['ENOENT', 'No such file or directory (os error 2)'],
	['E2BIG', 'Argument list too long (os error 7)'],
	['ENOEXEC', 'Exec format error (os error 8)'],
	['EBADF', 'Bad file descriptor (os error 9)'],
	['EAGAIN', 'Resource temporarily unavailable (os error 11)'],
	['EACCES', 'Permission denied (os error 13)'],
	['EBUSY', 'Resource busy (os error 16)'],
	['EEXIST', 'File exists (os error 17)'],
	['ENOTDIR', 'Not a directory (os error 20)'],
	['EISDIR', 'Is a directory (os error 21)'],
	['ENOTEMPTY', 'Directory not empty (os error 39)'],
	['ELOOP', 'Symbolic link loop (os error 40)'],
] as const)('%s is worded as the protocol words it', (name, text) => {
	expect(osErrorText(errno[name])).toBe(text);
	expect(osErrorName(errno[name])).toBe(name);
});

test('every error of the system has a name and a text that begins like a sentence', () => {
	for (const number of Object.values(errno)) {
		expect(osErrorText(number)).toMatch(/^[A-Z]\S.* \(os error \d+\)$/);
		expect(errno[osErrorName(number) as keyof typeof errno]).toBe(number);
	}
});

test('Node counts errors below zero, and both mean the same', () => {
	expect(osErrorText(-2)).toBe(osErrorText(2));
	expect(osErrorName(-2)).toBe('ENOENT');
});

test('an error nobody knows is told by its number', () => {
	expect(osErrorText(3999)).toBe('Unknown error (os error 3999)');
	expect(osErrorName(3999)).toBeUndefined();
});
