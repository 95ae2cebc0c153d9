import {LongarmError} from '../../shared/errors.js';

/** The address of a server, or an error that says what is wrong with it. */
export function requireUrl(text: string): string {
	const url = text.trim();
	if (url === '') throw invalidEnvironment('environment url cannot be empty');
	if (!/^wss?:\/\//.test(url)) throw invalidEnvironment(`environment url \`${url}\` must use ws:// or wss://`);
	try {
		return String(new URL(url)) && url;
	} catch (cause) {
		throw invalidEnvironment(`environment url \`${url}\` is invalid: ${(cause as Error).message}`, {}, cause);
	}
}

export function invalidEnvironment(message: string, context?: Record<string, unknown>, cause?: unknown): LongarmError {
	return new LongarmError('ENVIRONMENT_INVALID', {message, ...(context && {context}), cause});
}
