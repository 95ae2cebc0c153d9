import {RejectedError} from '../../../../client/session/client-errors.js';
import type {Executor} from './executor.js';

/** As `env` and shells say it. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
const FAILED = 125;

const REASONS: readonly {
	readonly error: string;
	readonly number: number;
	readonly code: number;
	readonly says: string;
}[] = [
	{error: 'ENOENT', number: 2, code: NOT_FOUND, says: 'not found'},
	{error: 'ENOTDIR', number: 20, code: NOT_FOUND, says: 'not found'},
	{error: 'EACCES', number: 13, code: NOT_EXECUTABLE, says: 'not executable'},
	{error: 'ENOEXEC', number: 8, code: NOT_EXECUTABLE, says: 'not a program this machine can execute'},
	{error: 'EISDIR', number: 21, code: NOT_EXECUTABLE, says: 'a directory'},
];

export interface FailedStart {
	readonly exitCode: number;
	readonly message: string;
	readonly hint: string;
}

/** What a start that was refused means in a shell; undefined when the program itself is not the reason. */
export async function explainFailedStart(
	error: unknown,
	{program, cwd, executor}: {program: string; cwd: string; executor: Executor},
): Promise<FailedStart | undefined> {
	if (!(error instanceof RejectedError)) return undefined;
	const reason = REASONS.find(each => isReason(error, each));
	if (!reason) return undefined;
	if (!(await executor.hasDirectory(cwd))) {
		const hint = 'Check --cwd: it has to be a directory of the machine that executes the command.';
		return {exitCode: FAILED, message: `${cwd}: not a directory in the environment ${executor.id}`, hint};
	}
	return {
		exitCode: reason.code,
		message: `${program}: ${reason.says}`,
		hint: `Check the program, its permissions and PATH in the environment ${executor.id}.`,
	};
}

/** Executors of other makes tell the number in their words. */
function isReason({context, reason}: RejectedError, known: (typeof REASONS)[number]): boolean {
	const told = context['error'];
	return told === undefined ? reason.includes(`(os error ${known.number})`) : told === known.error;
}
