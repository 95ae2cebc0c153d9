import {LongarmError} from '../../shared/errors.js';
import {findScheme, isServerUrl, type TransportTarget, URL_PREFIXES} from '../../transports/node/registry.js';
import type {TargetOptions} from '../../transports/node/transport-scheme.js';

/** The target a URL names, or an error that says what is wrong with it. */
export function targetFromUrl(text: string, options: TargetOptions = {}): TransportTarget {
	const url = requireUrl(text);
	return findScheme(url)!.parseTarget(url, options);
}

/** The URL of a server, or an error that says what is wrong with it. */
export function requireUrl(text: string): string {
	const url = text.trim();
	if (url === '') throw invalidEnvironment('environment url cannot be empty');
	if (!isServerUrl(url)) throw invalidEnvironment(`environment url \`${url}\` must use ${URL_PREFIXES.join(' or ')}`);
	try {
		return String(new URL(url)) && url;
	} catch (cause) {
		throw invalidEnvironment(`environment url \`${url}\` is invalid: ${(cause as Error).message}`, {}, cause);
	}
}

export function invalidEnvironment(message: string, context?: Record<string, unknown>, cause?: unknown): LongarmError {
	return new LongarmError('ENVIRONMENT_INVALID', {message, ...(context && {context}), cause});
}
