import {LongarmError} from '../../shared/errors.js';
import type {StartParams, WriteResult} from './process-handle.js';

/** Why input was not taken: an answer of the server, or what this client knows without asking. */
export type InputRefusal = Exclude<WriteResult['status'], 'accepted'> | 'exited' | 'noStdin';

const REASONS: Readonly<Record<InputRefusal, string>> = {
	stdinClosed: 'its standard input is closed',
	unknownProcess: 'the server does not know it any more',
	starting: 'it has not started yet',
	exited: 'it has exited',
	noStdin: 'it has no standard input',
};

/** Nothing was written. */
export function inputClosedError(processId: string, refusal: InputRefusal): LongarmError {
	const message = `process ${processId} takes no input: ${REASONS[refusal]}`;
	return new LongarmError('STDIN_CLOSED', {message, context: {processId, refusal}});
}

/** Undefined for any other error. */
export function inputRefusalOf(error: unknown): InputRefusal | undefined {
	const isRefused = error instanceof LongarmError && error.code === 'STDIN_CLOSED';
	return isRefused ? (error.context['refusal'] as InputRefusal) : undefined;
}

/** Whether a process that is started like this can be written to. */
export function hasStdin({io, tty, pipeStdin}: Pick<StartParams, 'io' | 'tty' | 'pipeStdin'>): boolean {
	if (!io) return tty || pipeStdin === true;
	return 'pty' in io || io.pipe.stdin === 'open';
}
