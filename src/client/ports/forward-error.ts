import {INVALID_PARAMS, METHOD_NOT_FOUND} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {LongarmError} from '../../shared/errors.js';
import {ProtocolError, RejectedError, TooManyCallsError} from '../session/client-errors.js';

export type ForwardErrorCode =
	/** The executor does not connect to this host, or to none. */
	| 'refused'
	/** The connection could not be made, or broke. */
	| 'failed'
	/** The executor said what no executor should. */
	| 'invalid-data'
	/** This executor cannot do that at all. */
	| 'unsupported'
	/** The link to the executor is gone, and the connection with it. */
	| 'disconnected';

/** A connection to a port of another machine failed. */
export class ForwardError extends Error {
	override readonly name = 'ForwardError';
	readonly code: ForwardErrorCode;
	/** What would help, where that is known. */
	readonly hint: string | undefined;

	constructor(
		code: ForwardErrorCode,
		message: string,
		{hint, cause}: {hint?: string | undefined; cause?: unknown} = {},
	) {
		super(message, cause === undefined ? undefined : {cause});
		this.code = code;
		this.hint = hint;
	}
}

/** Reasons of signals and programming errors pass. */
export function toForwardError(error: unknown): unknown {
	if (error instanceof DisconnectedError) return new ForwardError('disconnected', error.message, {cause: error});
	if (error instanceof RejectedError) {
		return new ForwardError(codeOf(error), error.reason, {hint: error.hint, cause: error});
	}
	if (error instanceof TooManyCallsError) return new ForwardError('failed', error.message, {cause: error});
	if (error instanceof ProtocolError) return new ForwardError('invalid-data', error.message, {cause: error});
	if (error instanceof LongarmError) {
		const code = error.code === 'FORWARD_REFUSED' ? 'refused' : 'failed';
		return new ForwardError(code, error.message, {hint: error.hint, cause: error});
	}
	return error;
}

function codeOf({code, errorCode}: RejectedError): ForwardErrorCode {
	if (errorCode === 'FORWARD_REFUSED' || code === INVALID_PARAMS) return 'refused';
	return code === METHOD_NOT_FOUND ? 'unsupported' : 'failed';
}
