import {FileError} from '../../../client/files/file-error.js';
import {RejectedError} from '../../../client/session/client-errors.js';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import {belowHeader} from './header-line.js';

/**
 * A failure in words a model can act on: the reason, and the advice that comes with it. A machine may have chosen the words: they
 * cannot be taken for an answer with a header.
 */
export function describeFailure(error: unknown): string {
	return belowHeader(describeError(error));
}

function describeError(error: unknown): string {
	if (error instanceof RejectedError) return withHint(withDriver(error), error.hint);
	if (error instanceof LongarmError) return withHint(error.message, error.hint);
	if (error instanceof FileError) return withHint(error.message, error.hint);
	return errorMessage(error);
}

function withDriver({reason, errorCode, context}: RejectedError): string {
	if (errorCode !== 'NOT_DRIVER') return reason;
	const driver = typeof context['driver'] === 'string' ? context['driver'] : 'somebody else';
	return `${driver} types into this process now; wait until they have given it back, or ask them`;
}

function withHint(message: string, hint: string | undefined): string {
	return hint === undefined || hint === '' ? message : `${message}. ${hint}`;
}
