import {RejectedError} from '../client/session/client-errors.js';
import {errorMessage} from '../shared/errors.js';
import type {ExecEnvironment} from './exec-environment.js';

export const UNAVAILABLE = 'unified exec is unavailable in this session';
export const LOGIN_FORBIDDEN = 'login shell is disabled by config; omit `login` or set it to false.';

/** Failure of a call, with a message for the model. */
export class ToolFailure extends Error {
	override readonly name = 'ToolFailure';
}

export function unknownSessionError(id: number): ToolFailure {
	return new ToolFailure(`write_stdin failed: Unknown process id ${id}`);
}

export function stdinClosedError(): ToolFailure {
	const advice = 'rerun exec_command with tty=true to keep stdin open';
	return new ToolFailure(`write_stdin failed: stdin is closed for this session; ${advice}`);
}

export function writeFailedError(): ToolFailure {
	return new ToolFailure('write_stdin failed: failed to write to stdin');
}

/** Upstream's text: a Rust debug print of nested errors, each quoted. */
export function startFailedError(error: unknown, {kind}: ExecEnvironment): ToolFailure {
	const isOwnRefusal = error instanceof RejectedError && kind !== 'remote';
	const reason = isOwnRefusal ? error.reason : errorMessage(error);
	const rejected = `Rejected(${JSON.stringify(`Failed to create unified exec process: ${reason}`)})`;
	return new ToolFailure(`exec_command failed: CreateProcess { message: ${JSON.stringify(rejected)} }`);
}
