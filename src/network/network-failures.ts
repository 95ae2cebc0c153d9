import {LongarmError} from '../shared/errors.js';

/** Why a request ended before its response did. */
export type GivenUp = 'timeout' | 'cancelled' | 'disconnected';

/** Nothing was sent: the request cannot be made as it is. */
export function invalidRequest(what: string): LongarmError {
	return new LongarmError('HTTP_INVALID', {message: `http/request ${what}`});
}

export function requestFailed(reason: string, cause?: unknown): LongarmError {
	return new LongarmError('HTTP_FAILED', {message: `http/request failed: ${reason}`, cause});
}

/** `url` has no credentials in it, so the text may be shown. */
export function sendFailed(url: URL, cause: unknown): LongarmError {
	return requestFailed(`error sending request for url (${url.href}): ${reasonOf(cause)}`, cause);
}

export function bodyFailed(reason: string, cause?: unknown): LongarmError {
	return new LongarmError('HTTP_FAILED', {message: `failed to read http/request response body: ${reason}`, cause});
}

export function givenUpBeforeResponse(why: GivenUp): LongarmError {
	return requestFailed(why === 'timeout' ? 'route-aware request timed out' : why);
}

/** What the last delta of a stream says. */
export function givenUpInBody(why: GivenUp): string {
	return why === 'timeout' ? 'request timed out' : why;
}

/** Added by newer lines of Node, for the user who starts it: a client elsewhere can do nothing with it. */
const ADVICE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/;

/** Node's words, where they say anything. */
export function reasonOf(error: unknown): string {
	if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reasonOf).join('; ');
	if (!(error instanceof Error)) return String(error);
	if (error.message === 'aborted' || error.message === 'socket hang up') return 'the connection was closed early';
	return error.message.replace(ADVICE, '') || (error as NodeJS.ErrnoException).code || error.name;
}
