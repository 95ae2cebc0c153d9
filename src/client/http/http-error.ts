import {INVALID_PARAMS, METHOD_NOT_FOUND} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {LongarmError} from '../../shared/errors.js';
import {ProtocolError, RejectedError, TooManyCallsError} from '../session/client-errors.js';

/** Reason of an `HttpError`. */
export type HttpErrorCode =
	/** The request cannot be made as it is; nothing was sent. */
	| 'invalid'
	/** The request could not be sent, or the response not be read to its end. */
	| 'failed'
	/** The response is a redirect, and the caller asked for an error then. */
	| 'redirected'
	/** The body came faster than it was read. */
	| 'overrun'
	/** The executor violated the protocol. */
	| 'invalid-data'
	/** The executor does not implement it. */
	| 'unsupported'
	/** The connection to the executor is lost; the request may have reached the origin. */
	| 'disconnected';

/** A failed request. A `TypeError`, as failures of the standard `fetch` are. */
export class HttpError extends TypeError {
	override readonly name = 'HttpError';
	readonly code: HttpErrorCode;

	constructor(code: HttpErrorCode, message: string, cause?: unknown) {
		super(message, cause === undefined ? undefined : {cause});
		this.code = code;
	}
}

/** Converts errors of calls; abort reasons and programming errors are returned unchanged. */
export function toHttpError(error: unknown): unknown {
	if (error instanceof DisconnectedError) return new HttpError('disconnected', error.message, error);
	if (error instanceof RejectedError) return new HttpError(codeOf(error), error.reason, error);
	if (error instanceof TooManyCallsError) return new HttpError('failed', error.message, error);
	if (error instanceof ProtocolError) return new HttpError('invalid-data', error.message, error);
	if (error instanceof LongarmError) {
		return new HttpError(error.code === 'HTTP_INVALID' ? 'invalid' : 'failed', error.message, error);
	}
	return error;
}

function codeOf({code}: RejectedError): HttpErrorCode {
	if (code === METHOD_NOT_FOUND) return 'unsupported';
	return code === INVALID_PARAMS ? 'invalid' : 'failed';
}
