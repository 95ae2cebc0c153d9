import {invalidRequest} from '../network-failures.js';
import {headerValue} from './header-variables.js';
import type {Header, Hop, HttpRequest, HttpVariables} from './http-request.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Anything but control characters, except the tab. */
const VALUE = /^[\t\x20-\x7e\x80-\uffff]*$/;

/**
 * Headers about one connection rather than the request. Framing and persistence are ours, switching protocols has no
 * place in a request with one response, and the body never waits to be asked for.
 */
const NOT_PASSED_ON = new Set([
	'transfer-encoding',
	'keep-alive',
	'proxy-connection',
	'upgrade',
	'trailer',
	'expect',
	'content-length',
]);

/** The request as it goes out first. Checks in the order the peer's server does. */
export function prepareRequest(request: HttpRequest, variables: HttpVariables): Hop {
	const method = checkedMethod(request.method);
	const url = checkedUrl(request.url);
	const given = request.headers.map(header => checkedHeader(header.name, headerValue(header, variables)));
	refuseTwoHosts(given);
	const credentials = takeCredentials(url);
	const headers = given.filter(header => isPassedOn(header));
	if (credentials && !has(headers, 'authorization')) headers.push(['authorization', credentials]);
	if (!has(headers, 'accept')) headers.push(['accept', '*/*']);
	// Without a body only the wish to send none is honoured.
	const body = request.body ?? (has(given, 'content-length') ? new Uint8Array() : undefined);
	return {method, url, headers, body};
}

/** Credentials of a URL as a header, taken out of it along with the fragment. */
export function takeCredentials(url: URL): string | undefined {
	const {username, password} = url;
	url.username = '';
	url.password = '';
	url.hash = '';
	if (username === '' && password === '') return undefined;
	return `Basic ${Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')}`;
}

export function has(headers: readonly Header[], name: string): boolean {
	return headers.some(([each]) => each === name);
}

function checkedMethod(method: string): string {
	if (!TOKEN.test(method)) throw invalidRequest('method is invalid: invalid HTTP method');
	if (method === 'CONNECT') throw invalidRequest('method is invalid: CONNECT has no response to return');
	return method;
}

function checkedUrl(text: string): URL {
	let url: URL;
	try {
		url = new URL(text);
	} catch {
		// The text itself is left out: it may hold credentials.
		throw invalidRequest('url is invalid: not an absolute URL');
	}
	if (url.protocol === 'http:' || url.protocol === 'https:') return url;
	throw invalidRequest(`only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
}

function checkedHeader(name: string, value: string): Header {
	if (!TOKEN.test(name)) throw invalidRequest('header name is invalid: invalid HTTP header name');
	if (!VALUE.test(value)) {
		throw invalidRequest(`header value is invalid for ${name}: failed to parse header value`);
	}
	return [name.toLowerCase(), Buffer.from(value, 'utf8').toString('latin1')];
}

function refuseTwoHosts(headers: readonly Header[]): void {
	if (headers.filter(([name]) => name === 'host').length < 2) return;
	throw invalidRequest('header value is invalid for host: given more than once');
}

function isPassedOn([name, value]: Header): boolean {
	if (name === 'connection') return /^(?:close|keep-alive)$/i.test(value.trim());
	return !NOT_PASSED_ON.has(name);
}

function unescaped(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		// A stray percent sign stands for itself.
		return text;
	}
}
