// covers: src/processes/backends/backend.ts (spawnError), src/shared/node/os-error.ts
import {constants} from 'node:os';
import {describe, expect, test} from 'vitest';
import {toWireError} from '../../../src/adapters/wire-errors.js';
import {spawnError} from '../../../src/processes/backends/backend.js';
import {ERRORS} from '../../../src/shared/errors.js';

const {errno} = constants;

describe('what the operating system refuses', () => {
	test.each([
		['EMFILE', 'Too many open files (os error 24)'],
		['ENFILE', 'File table overflow (os error 23)'],
		['EAGAIN', 'Resource temporarily unavailable (os error 11)'],
		['ENOMEM', 'Out of memory (os error 12)'],
	] as const)('because it ran out of something (%s) is named as such, on the wire, too', (name, message) => {
		// The C library's number, and libuv's, which is negative.
		for (const number of [errno[name], -errno[name]]) {
			const failure = spawnError(number, '/bin/true');
			const context = {program: '/bin/true', error: name};
			expect(failure).toMatchObject({code: 'RESOURCES_EXHAUSTED', message, context});
			const data = {code: 'RESOURCES_EXHAUSTED', context, hint: ERRORS.RESOURCES_EXHAUSTED.hint};
			expect(toWireError(failure)).toMatchObject({code: -32603, message, data});
		}
	});

	test.each([
		['ENOENT', 'No such file or directory (os error 2)'],
		['EACCES', 'Permission denied (os error 13)'],
		['E2BIG', 'Argument list too long (os error 7)'],
	] as const)('for any other reason (%s) is told as the peers tell it, without data', (name, message) => {
		const failure = spawnError(errno[name], '/bin/true');
		expect(failure).toMatchObject({
			code: 'SPAWN_FAILED',
			message,
			context: {program: '/bin/true', error: name},
		});
		expect(toWireError(failure)).toMatchObject({code: -32603, message, data: undefined});
	});
});
