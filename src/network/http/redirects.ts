import type {IncomingMessage} from 'node:http';
import {sendFailedError} from '../network-failures.js';
import type {Header, Hop} from './http-request.js';
import {hasHeader, takeCredentials} from './prepare-request.js';

/** Redirects followed for one request; one more is an error. */
export const MAX_REDIRECTS = 10;

/** Headers that must not be sent to another origin. */
const ORIGIN_BOUND_HEADERS = new Set([
	'authorization',
	'cookie',
	'cookie2',
	'proxy-authorization',
	'www-authenticate',
	'host',
]);
/** Names of other headers that carry credentials, such as `x-api-key`, `private-token` and `x-amz-security-token`. */
const CREDENTIAL_NAME =
	/(?:^|[-_])(?:\w*key|\w*token|\w*secret|auth\w*|password|credentials?|cookie|session|signature)(?:$|[-_])/;

/** Next hop of a redirect; undefined if the response is the final one. */
export function nextHop(
	hop: Hop,
	{statusCode, headers}: Pick<IncomingMessage, 'statusCode' | 'headers'>,
): Hop | undefined {
	if (![301, 302, 303, 307, 308].includes(statusCode!)) return undefined;
	const url = resolveLocation(hop.url, headers.location);
	if (!url) return undefined;
	if (url.protocol !== 'http:' && url.protocol !== 'https:') {
		throw sendFailedError(hop.url, `redirected to a URL with the scheme ${url.protocol.slice(0, -1)}`);
	}
	const credentials = takeCredentials(url);
	const asGet = isChangedToGet(statusCode!, hop.method);
	// Scheme, host and port: anybody on the way reads what is sent to the same host without encryption.
	const isSameOrigin = url.origin === hop.url.origin;
	const kept = hop.headers.filter(([name]) => {
		if (name === 'referer' || (asGet && name.startsWith('content-'))) return false;
		return isSameOrigin || !isOriginBound(name, hop);
	});
	return {
		method: asGet && hop.method !== 'HEAD' ? 'GET' : hop.method,
		url,
		headers: [...kept, ...createHopHeaders(hop, url, kept, credentials)],
		body: asGet ? undefined : hop.body,
		...(hop.secretHeaders && {secretHeaders: hop.secretHeaders}),
	};
}

function isOriginBound(name: string, {secretHeaders}: Hop): boolean {
	return ORIGIN_BOUND_HEADERS.has(name) || CREDENTIAL_NAME.test(name) || secretHeaders?.has(name) === true;
}

function resolveLocation(from: URL, location: string | undefined): URL | undefined {
	if (location === undefined) return undefined;
	try {
		// Node decodes headers as latin1: one character per byte.
		return new URL(Buffer.from(location, 'latin1').toString('utf8'), from);
	} catch {
		return undefined;
	}
}

function isChangedToGet(status: number, method: string): boolean {
	if (status === 303) return true;
	return (status === 301 || status === 302) && method === 'POST';
}

function createHopHeaders(from: Hop, to: URL, kept: readonly Header[], credentials: string | undefined): Header[] {
	const headers: Header[] = [];
	if (credentials && !hasHeader(kept, 'authorization')) headers.push(['authorization', credentials]);
	// No referer from an encrypted connection to an open one.
	if (from.url.protocol === 'http:' || to.protocol === 'https:') headers.push(['referer', from.url.href]);
	return headers;
}
