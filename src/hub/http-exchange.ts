import type {IncomingMessage, ServerResponse} from 'node:http';

/** Longest body of a request. */
export const MAX_REQUEST_BODY_BYTES = 16 * 1024;
/** How long a client may take to send a request. */
export const REQUEST_TIMEOUT_MS = 10_000;
const BEARER = /^Bearer ([!-~]+)$/i;

/** Answer of the hub that is no success: a code for programs and a text for people. */
export class HubRefusal extends Error {
	override readonly name = 'HubRefusal';
	readonly status: number;
	readonly code: string;

	constructor(status: number, code: string, message: string) {
		super(message);
		this.status = status;
		this.code = code;
	}
}

/** The JSON object in the body; throws a `HubRefusal`. */
export async function readJsonBody(request: IncomingMessage): Promise<Record<string, unknown>> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	// The connection stays, for an answer.
	for await (const chunk of request.iterator({destroyOnReturn: false}) as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > MAX_REQUEST_BODY_BYTES) throw new HubRefusal(413, 'bad_request', 'the body is too long');
		chunks.push(chunk);
	}
	try {
		const value = JSON.parse(Buffer.concat(chunks).toString() || '{}') as unknown;
		if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
	} catch {
		// Said below.
	}
	throw new HubRefusal(400, 'bad_request', 'the body is no JSON object');
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
	const body = `${JSON.stringify(value)}\n`;
	response.writeHead(status, {
		'content-type': 'application/json',
		'content-length': Buffer.byteLength(body),
		'cache-control': 'no-store',
	});
	response.end(body);
}

export function sendRefusal(response: ServerResponse, {status, code, message}: HubRefusal): void {
	sendJson(response, status, {error: {code, message}});
}

/** The token of a request; undefined without a header of that form. */
export function bearerOf({headers: {authorization}}: IncomingMessage): string | undefined {
	return authorization === undefined ? undefined : BEARER.exec(authorization.trim())?.[1];
}

/** Ends a request whose body is not there in time; the server itself waits longer for an extension. */
export function limitBody(request: IncomingMessage): void {
	const timer = setTimeout(() => {
		if (!request.complete) request.destroy();
	}, REQUEST_TIMEOUT_MS);
	request.once('close', () => clearTimeout(timer));
}

/**
 * Reads the rest of a body that nobody wants, within the time for a request. A connection that is closed in front of unread
 * bytes is reset, and an answer on its way may be lost with it.
 */
export async function discardBody(request: IncomingMessage): Promise<void> {
	if (request.complete || request.destroyed) return;
	// A reader that has given up still listens, and would hold the stream back.
	request.removeAllListeners('readable');
	await new Promise<void>(resolve => {
		const timer = setTimeout(resolve, REQUEST_TIMEOUT_MS);
		request.once('close', () => {
			clearTimeout(timer);
			resolve();
		});
		request.once('end', resolve);
		request.resume();
	});
}

/** The host is the client's word and not used here. */
export function urlOf({url = '/'}: IncomingMessage): URL {
	return URL.canParse(url, 'http://hub') ? new URL(url, 'http://hub') : new URL('http://hub/');
}
