import {RejectedError} from '../session/client-errors.js';
import type {Collected} from './collector.js';

/**
 * Cause of a command's end: it exited, a signal ended it, it took too long, it was aborted, the connection to it was
 * lost, or it could not be started. `incomplete` is an exit with output missing, which the server did not keep while the
 * connection was lost.
 */
export type RunReason = 'exit' | 'incomplete' | 'signal' | 'timeout' | 'aborted' | 'disconnected' | 'spawn';

/** Outcome of a command: output, exit and the reason it ended. */
export interface RunResult {
	/** Empty for a process that was started before, see `communicate`. */
	readonly argv: readonly string[];
	readonly reason: RunReason;
	/** Exit code, or 128 + n after signal n; undefined when it is not known. */
	readonly exitCode: number | undefined;
	/** On a terminal, both streams. */
	readonly stdout: Collected;
	readonly stderr: Collected;
	readonly durationMs: number;
	/** The underlying error, if there was one. */
	readonly error: Error | undefined;
}

/** Thrown for a command that did not exit with code 0; `result` is complete. */
export class RunError extends Error {
	override readonly name = 'RunError';
	readonly result: RunResult;

	constructor(result: RunResult, program = result.argv[0] ?? '') {
		super(describe(result, program), result.error && {cause: result.error});
		this.result = result;
	}
}

function describe({reason, exitCode, error, stderr}: RunResult, program: string): string {
	const what = {
		exit: `exited with code ${exitCode}`,
		incomplete: `exited with code ${exitCode}, but output is missing`,
		signal: `was ended by a signal (code ${exitCode})`,
		timeout: 'took too long and was ended',
		aborted: 'was aborted',
		disconnected: `was lost: ${error?.message}`,
		spawn: `could not be started: ${describeRefusal(error)}`,
	}[reason];
	const lastLine = stderr.text.trimEnd().split('\n').at(-1) ?? '';
	return `${program} ${what}${lastLine === '' ? '' : `: ${lastLine}`}`;
}

/** The operating system has the same words for a missing directory and a missing program. */
export function describeRefusal(error: Error | undefined): string {
	if (!(error instanceof RejectedError)) return `${error?.message}`;
	const {errorCode, context, reason, message} = error;
	if (errorCode === 'CWD_UNUSABLE') return `the working directory ${String(context['cwd'])} cannot be used: ${reason}`;
	return errorCode === 'PROGRAM_NOT_FOUND' ? `there is no such program: ${reason}` : message;
}
