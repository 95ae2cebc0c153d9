import {RejectedError} from '../../../../client/session/client-errors.js';
import type {Environment} from '../../../../environments/environment.js';
import {EXIT} from '../../../exit-codes.js';

const REASONS: readonly {
	readonly error: string;
	readonly number: number;
	readonly code: number;
	readonly says: string;
}[] = [
	{error: 'ENOENT', number: 2, code: EXIT.notFound, says: 'not found'},
	{error: 'ENOTDIR', number: 20, code: EXIT.notFound, says: 'not found'},
	{error: 'EACCES', number: 13, code: EXIT.notExecutable, says: 'not executable'},
	{error: 'ENOEXEC', number: 8, code: EXIT.notExecutable, says: 'not a program this machine can execute'},
	{error: 'EISDIR', number: 21, code: EXIT.notExecutable, says: 'a directory'},
];

export interface FailedStart {
	readonly exitCode: number;
	readonly message: string;
	readonly hint: string;
}

/** Exit code and message a shell would have for a refused start; undefined when the program itself is not the reason. */
export async function explainFailedStart(
	error: unknown,
	{program, cwd, environment}: {program: string; cwd: string; environment: Environment},
): Promise<FailedStart | undefined> {
	if (!(error instanceof RejectedError)) return undefined;
	const reason = REASONS.find(each => isCausedBy(error, each));
	if (!reason) return undefined;
	if (error.errorCode === 'CWD_UNUSABLE' || !(await hasDirectory(environment, cwd))) {
		const hint = 'Check --cwd: it has to be a directory of the machine that executes the command.';
		return {exitCode: EXIT.notRun, message: `${cwd}: not a directory in the environment ${environment.id}`, hint};
	}
	return {
		exitCode: reason.code,
		message: `${program}: ${reason.says}`,
		hint: `Check the program, its permissions and PATH in the environment ${environment.id}.`,
	};
}

/** Whether there is such a directory, as far as can be found out. */
async function hasDirectory({files}: Environment, path: string): Promise<boolean> {
	try {
		return (await files.metadata(path)).isDirectory;
	} catch {
		return false;
	}
}

/** Servers of other makes tell the number in their words. */
function isCausedBy({context, reason}: RejectedError, known: (typeof REASONS)[number]): boolean {
	const told = context['error'];
	return told === undefined ? reason.includes(`(os error ${known.number})`) : told === known.error;
}
