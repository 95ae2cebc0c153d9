import {type ErrorCode, LongarmError} from '../shared/errors.js';

/** Exit codes of longarm itself. Those from 124 on are the ones of `timeout`, `env` and shells, which scripts know. */
export const EXIT = {
	ok: 0,
	/** Something failed; stderr says what. */
	failed: 1,
	/** The command line or a setting is wrong; nothing was done. */
	misused: 2,
	/** A command took longer than it may. */
	timedOut: 124,
	/** `run` and `shell`: longarm failed, not the command. */
	notRun: 125,
	notExecutable: 126,
	notFound: 127,
	/** SIGINT ended it. */
	interrupted: 130,
	/** SIGPIPE ended it: the reader of its output has left. */
	brokenPipe: 141,
} as const;

const SIGNAL_BASE = 128;
export const FAILURE_CODES: FailureCodes = {failed: EXIT.failed, misused: EXIT.misused};
/** Of commands whose own exit codes are those of another program. */
export const PASSED_THROUGH_FAILURE_CODES: FailureCodes = {failed: EXIT.notRun, misused: EXIT.notRun};
/** Failures that the caller can mend on the command line or in a setting. */
const MISUSES: ReadonlySet<ErrorCode> = new Set([
	'SETTING_INVALID',
	'LISTEN_REFUSED',
	'ENVIRONMENT_INVALID',
	'USAGE_WRONG',
]);

/** A shell shows 128 + n for a program that signal n has ended. */
export function exitCodeOfSignal(number: number): number {
	return SIGNAL_BASE + number;
}

/** Exit codes for failures of the program itself. */
export interface FailureCodes {
	readonly failed: number;
	/** The command line or a setting is wrong. */
	readonly misused: number;
}

export function exitCodeOfError({code}: LongarmError, {failed, misused}: FailureCodes): number {
	return MISUSES.has(code) ? misused : failed;
}

/** An argument or an option that cannot be used as it is. */
export function usageError(message: string, cause?: unknown): LongarmError {
	return new LongarmError('USAGE_WRONG', {message, cause});
}
