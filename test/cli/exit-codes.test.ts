import {constants} from 'node:os';
import {expect, test} from 'vitest';
import {
	EXIT,
	exitCodeOfError,
	exitCodeOfSignal,
	FAILURE_CODES,
	PASSED_THROUGH_FAILURE_CODES,
	usageError,
} from '../../src/cli/exit-codes.js';
import {LongarmError} from '../../src/shared/errors.js';

test('a signal exits with what a shell shows for it', () => {
	const {SIGINT, SIGPIPE, SIGTERM} = constants.signals;
	expect([SIGINT, SIGPIPE, SIGTERM].map(exitCodeOfSignal)).toEqual([EXIT.interrupted, EXIT.brokenPipe, 143]);
});

test('a mistake of the caller is told apart from a failure, unless the codes belong to another program', () => {
	const errors = [usageError('no such option'), new LongarmError('TLS_INVALID', {message: 'broken'})];
	expect(errors.map(error => exitCodeOfError(error, FAILURE_CODES))).toEqual([EXIT.misused, EXIT.failed]);
	expect(errors.map(error => exitCodeOfError(error, PASSED_THROUGH_FAILURE_CODES))).toEqual([EXIT.notRun, EXIT.notRun]);
});

test('a usage error keeps its cause', () => {
	const cause = new Error('because');
	expect(usageError('wrong', cause)).toMatchObject({code: 'USAGE_WRONG', message: 'wrong', cause});
});
