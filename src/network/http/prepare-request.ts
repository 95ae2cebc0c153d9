import {invalidRequestError} from '../network-failures.js';
import {resolveHeaderValue} from './header-variables.js';
import type {Header, Hop, HttpRequest, HttpVariables} from './http-request.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Anything but control characters, except the tab. */
const VALUE = /^[\t\x20-\x7e\x80-\uffff]*$/;

/**
 * Hop-by-hop headers. Framing and persistence are decided here, switching protocols is impossible in a request with one
 * response, and the body never waits for `100 Continue`.
 */
const CONNECTION_HEADERS = new Set([
	'transfer-encoding',
	'keep-alive',
	'proxy-connection',
	'upgrade',
	'trailer',
	'expect',
	'content-length',
]);

/** Validates a request and returns its first hop. Checks in the order upstream's server does; see `resolveHeaderValue`. */
export function prepareRequest(request: HttpRequest, variables: HttpVariables, allowed?: readonly string[]): Hop {
	const method = validateMethod(request.method);
	const url = validateUrl(request.url);
	const given = request.headers.map(header =>
		validateHeader(header.name, resolveHeaderValue(header, variables, allowed)),
	);
	requireSingleHost(given);
	const credentials = takeCredentials(url);
	const headers = given.filter(header => isForwarded(header));
	if (credentials && !hasHeader(headers, 'authorization')) headers.push(['authorization', credentials]);
	if (!hasHeader(headers, 'accept')) headers.push(['accept', '*/*']);
	// A content-length without a body means an empty body.
	const body = request.body ?? (hasHeader(given, 'content-length') ? new Uint8Array() : undefined);
	const fromVariables = request.headers.filter(({valueEnvVar}) => valueEnvVar != null);
	return {method, url, headers, body, secretHeaders: new Set(fromVariables.map(({name}) => name.toLowerCase()))};
}

/** Removes credentials and fragment from a URL; returns the credentials as an authorization header. */
export function takeCredentials(url: URL): string | undefined {
	const {username, password, hash} = url;
	// Each of these parses the URL again. One that ends in a bare `#` has an empty hash, too.
	if (hash !== '' || url.href.endsWith('#')) url.hash = '';
	if (username === '' && password === '') return undefined;
	url.username = '';
	url.password = '';
	return `Basic ${Buffer.from(`${decodePercent(username)}:${decodePercent(password)}`).toString('base64')}`;
}

export function hasHeader(headers: readonly Header[], name: string): boolean {
	return headers.some(([each]) => each === name);
}

function validateMethod(method: string): string {
	if (!TOKEN.test(method)) throw invalidRequestError('method is invalid: invalid HTTP method');
	if (method === 'CONNECT') throw invalidRequestError('method is invalid: CONNECT has no response to return');
	return method;
}

function validateUrl(text: string): URL {
	let url: URL;
	try {
		url = new URL(text);
	} catch {
		// The message leaves out the text: it may hold credentials.
		throw invalidRequestError('url is invalid: not an absolute URL');
	}
	if (url.protocol === 'http:' || url.protocol === 'https:') return url;
	throw invalidRequestError(`only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
}

function validateHeader(name: string, value: string): Header {
	if (!TOKEN.test(name)) throw invalidRequestError('header name is invalid: invalid HTTP header name');
	if (!VALUE.test(value)) {
		throw invalidRequestError(`header value is invalid for ${name}: failed to parse header value`);
	}
	return [name.toLowerCase(), Buffer.from(value, 'utf8').toString('latin1')];
}

function requireSingleHost(headers: readonly Header[]): void {
	if (headers.filter(([name]) => name === 'host').length < 2) return;
	throw invalidRequestError('header value is invalid for host: given more than once');
}

function isForwarded([name, value]: Header): boolean {
	if (name === 'connection') return /^(?:close|keep-alive)$/i.test(value.trim());
	return !CONNECTION_HEADERS.has(name);
}

function decodePercent(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		// A stray percent sign is literal.
		return text;
	}
}
