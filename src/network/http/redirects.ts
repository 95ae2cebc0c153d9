import type {IncomingMessage} from 'node:http';
import {sendFailed} from '../network-failures.js';
import type {Header, Hop} from './http-request.js';
import {has, takeCredentials} from './prepare-request.js';

/** Redirects followed for one request; one more is an error. */
export const MAX_REDIRECTS = 10;

/** What is meant for one host only. */
const FOR_ONE_HOST = new Set(['authorization', 'cookie', 'cookie2', 'proxy-authorization', 'www-authenticate', 'host']);

/** Where a response leads, or undefined when it is the result itself. */
export function nextHop(
	hop: Hop,
	{statusCode, headers}: Pick<IncomingMessage, 'statusCode' | 'headers'>,
): Hop | undefined {
	if (![301, 302, 303, 307, 308].includes(statusCode!)) return undefined;
	const url = target(hop.url, headers.location);
	if (!url) return undefined;
	if (url.protocol !== 'http:' && url.protocol !== 'https:') {
		throw sendFailed(hop.url, `redirected to a URL with the scheme ${url.protocol.slice(0, -1)}`);
	}
	const credentials = takeCredentials(url);
	const asGet = becomesGet(statusCode!, hop.method);
	const kept = hop.headers.filter(([name]) => {
		if (name === 'referer' || (asGet && name.startsWith('content-'))) return false;
		return url.host === hop.url.host || !FOR_ONE_HOST.has(name);
	});
	return {
		method: asGet && hop.method !== 'HEAD' ? 'GET' : hop.method,
		url,
		headers: [...kept, ...added(hop, url, kept, credentials)],
		body: asGet ? undefined : hop.body,
	};
}

function target(from: URL, location: string | undefined): URL | undefined {
	if (location === undefined) return undefined;
	try {
		// Node hands out one character per byte.
		return new URL(Buffer.from(location, 'latin1').toString('utf8'), from);
	} catch {
		return undefined;
	}
}

function becomesGet(status: number, method: string): boolean {
	if (status === 303) return true;
	return (status === 301 || status === 302) && method === 'POST';
}

function added(from: Hop, to: URL, kept: readonly Header[], credentials: string | undefined): Header[] {
	const headers: Header[] = [];
	if (credentials && !has(kept, 'authorization')) headers.push(['authorization', credentials]);
	// What was asked for over an encrypted connection is nothing for an open one.
	if (from.url.protocol === 'http:' || to.protocol === 'https:') headers.push(['referer', from.url.href]);
	return headers;
}
