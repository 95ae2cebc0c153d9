import {INVALID_PARAMS, METHOD_NOT_FOUND} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {LongarmError} from '../../shared/errors.js';
import {ProtocolError, RejectedError, TooManyCallsError} from '../session/client-errors.js';

/** Reason of a `ForwardError`. */
export type ForwardErrorCode =
	/** The executor's policy does not allow this target, or no forwarding at all. */
	| 'refused'
	/** The connection could not be established, or broke. */
	| 'failed'
	/** The executor violated the protocol. */
	| 'invalid-data'
	/** The executor does not implement it. */
	| 'unsupported'
	/** The connection to the executor is lost, and the forwarded one with it. */
	| 'disconnected';

/** A failed connection to a port of another machine. */
export class ForwardError extends Error {
	override readonly name = 'ForwardError';
	readonly code: ForwardErrorCode;
	/** A remedy, where one is known. */
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

/** Converts errors of calls; abort reasons and programming errors are returned unchanged. */
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
