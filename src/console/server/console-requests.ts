import type {IncomingMessage} from 'node:http';

/** Largest body of a login. */
export const MAX_LOGIN_BYTES = 16 * 1024;
const DEFAULT_PORT = 'default';

/** Headers of every answer. Styles of the terminal get the nonce; scripts come from files only. */
export function securityHeaders(nonce: string): Record<string, string> {
	return {
		'content-security-policy': [
			"default-src 'none'",
			"script-src 'self'",
			`style-src 'self' 'nonce-${nonce}'`,
			"img-src 'self' blob:",
			"connect-src 'self'",
			"manifest-src 'self'",
			"base-uri 'none'",
			"form-action 'none'",
			"frame-ancestors 'none'",
			"require-trusted-types-for 'script'",
		].join('; '),
		'x-content-type-options': 'nosniff',
		'referrer-policy': 'no-referrer',
		'cross-origin-opener-policy': 'same-origin',
		'cross-origin-resource-policy': 'same-origin',
		'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
	};
}

/**
 * Cookies are sent to every port of a host: the port in the name keeps servers on one machine apart. The header was
 * checked before.
 */
export function cookieNameOf({headers}: IncomingMessage): string {
	return `longarm_console_${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? DEFAULT_PORT}`;
}

export function readCookie(request: IncomingMessage): string | undefined {
	const start = `${cookieNameOf(request)}=`;
	const pairs = (request.headers.cookie ?? '').split(';').map(pair => pair.trim());
	return pairs.find(pair => pair.startsWith(start))?.slice(start.length);
}

/** Whether the request was made by a page of this very server; a browser always tells for WebSockets and for POST. */
export function isOwnPage({headers}: IncomingMessage): boolean {
	const {origin, host} = headers;
	if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
	const {protocol, host: from} = new URL(origin);
	return from === host.toLowerCase() && (protocol === 'http:' || protocol === 'https:');
}

/** Whether a GET request comes from another site, as far as the browser tells. */
export function isForeign({headers}: IncomingMessage): boolean {
	const site = headers['sec-fetch-site'];
	return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/** The JSON object of a body; undefined for anything else. */
export async function readLoginBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>> | undefined> {
	const {'content-type': type, 'content-length': length} = request.headers;
	// The parser of requests reads no more than was declared.
	if (type !== 'application/json' || length === undefined || Number(length) > MAX_LOGIN_BYTES) return undefined;
	const pieces: Buffer[] = [];
	for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
	try {
		const value: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'));
		return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
	} catch {
		return undefined;
	}
}
