import {LongarmError} from '../shared/errors.js';

/** Advice that newer versions of Node append for the user who starts Node; useless to a remote client. */
const NODE_CA_ADVICE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/;

/** Reason why a request was aborted. */
export type AbortReason = 'timeout' | 'cancelled' | 'disconnected';

/** For a request that fails validation; nothing was sent. */
export function invalidRequestError(what: string): LongarmError {
	return new LongarmError('HTTP_INVALID', {message: `http/request ${what}`});
}

export function requestFailedError(reason: string, cause?: unknown): LongarmError {
	return new LongarmError('HTTP_FAILED', {message: `http/request failed: ${reason}`, cause});
}

/** `url` must not contain credentials: it is part of the message. */
export function sendFailedError(url: URL, cause: unknown): LongarmError {
	return requestFailedError(`error sending request for url (${url.href}): ${describeNetworkError(cause)}`, cause);
}

export function bodyFailedError(reason: string, cause?: unknown): LongarmError {
	return new LongarmError('HTTP_FAILED', {message: `failed to read http/request response body: ${reason}`, cause});
}

export function abortedRequestError(why: AbortReason): LongarmError {
	return requestFailedError(why === 'timeout' ? 'route-aware request timed out' : why);
}

/** Error text of the last delta of a stream. */
export function abortedBodyMessage(why: AbortReason): string {
	return why === 'timeout' ? 'request timed out' : why;
}

/** Message of a Node error; its code or name if the message is empty. */
export function describeNetworkError(error: unknown): string {
	if (error instanceof AggregateError && error.errors.length > 0)
		return error.errors.map(describeNetworkError).join('; ');
	if (!(error instanceof Error)) return String(error);
	if (error.message === 'aborted' || error.message === 'socket hang up') return 'the connection was closed early';
	return error.message.replace(NODE_CA_ADVICE, '') || (error as NodeJS.ErrnoException).code || error.name;
}
