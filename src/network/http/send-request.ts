import type {ClientRequest, IncomingMessage} from 'node:http';
import {BoundedReader} from '../../shared/node/bounded-reader.js';
import type {AgentRoute} from './agents.js';
import type {Hop} from './http-request.js';
import {has} from './prepare-request.js';

/** Largest head of a response. */
const MAX_HEAD_BYTES = 256 * 1024;
/** Body bytes read ahead of whoever wants them. */
const AHEAD_BYTES = 256 * 1024;

/** What may be sent twice without harm. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** A response whose head has arrived. */
export interface Answer {
	readonly incoming: IncomingMessage;
	readonly body: BoundedReader;
	/** Ends the exchange, and the connection with it unless the body was read to its end. */
	drop(): void;
}

/**
 * Sends one request and waits for the head of its response. An origin may end an idle connection at the very moment it
 * is used again: then the request goes out once more, as long as it is one that may. Every attempt uses up a connection
 * that was kept, so there are not many.
 */
export async function send(hop: Hop, route: AgentRoute, givenUp: AbortSignal): Promise<Answer> {
	for (;;) {
		const attempt = begin(hop, route, givenUp);
		try {
			return await attempt.answer;
		} catch (error) {
			const stale = attempt.request.reusedSocket && isHangUp(error) && IDEMPOTENT.has(hop.method);
			if (!stale || givenUp.aborted) throw error;
		}
	}
}

function begin(hop: Hop, route: AgentRoute, givenUp: AbortSignal): {request: ClientRequest; answer: Promise<Answer>} {
	const options = {...route.options, method: hop.method, setHost: false, maxHeaderSize: MAX_HEAD_BYTES, givenUp};
	const request = route.request(options);
	// The size of the head is bound enough; more than a number of headers would be left out silently.
	request.maxHeadersCount = 0;
	const answer = new Promise<Answer>((resolve, reject) => {
		let body: BoundedReader | undefined;
		const abort = (): void => {
			const error = new Error('given up');
			body?.fail(error);
			reject(error);
			request.destroy(error);
		};
		givenUp.addEventListener('abort', abort, {once: true});
		request.once('close', () => givenUp.removeEventListener('abort', abort));
		request.once('response', incoming => {
			body = new BoundedReader(incoming, AHEAD_BYTES);
			resolve({incoming, body, drop: () => void (incoming.readableEnded || request.destroy())});
		});
		request.once('upgrade', (_incoming, socket) => {
			socket.destroy();
			reject(new Error('the origin switched to another protocol'));
		});
		request.on('error', error => {
			body?.setFailureCause(error);
			reject(error);
		});
	});
	writeHead(request, hop, route);
	request.end(hop.body);
	return {request, answer};
}

/** Exactly the headers of the hop, the host and the length: nothing that Node would add by itself. */
function writeHead(request: ClientRequest, {method, url, headers, body}: Hop, {proxyHeaders}: AgentRoute): void {
	// Node has put it in capitals.
	request.method = method;
	for (const [name, value] of headers) request.appendHeader(name, value);
	for (const [name, value] of proxyHeaders) if (!has(headers, name)) request.appendHeader(name, value);
	if (!has(headers, 'host')) request.setHeader('host', url.host);
	if (!has(headers, 'connection')) request.removeHeader('connection');
	request.removeHeader('transfer-encoding');
	if (body) request.setHeader('content-length', body.length);
	else request.removeHeader('content-length');
}

function isHangUp(error: unknown): boolean {
	return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
