import type {ClientRequest, IncomingMessage} from 'node:http';
import {BoundedReader} from '../../shared/node/bounded-reader.js';
import type {AgentRoute} from './agents.js';
import type {Hop} from './http-request.js';
import {hasHeader} from './prepare-request.js';

/** Largest response head. */
const MAX_HEAD_BYTES = 256 * 1024;
/** Body bytes read ahead of the consumer. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** Methods that may be sent twice. */
const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** A response whose head has arrived. */
export interface ReceivedResponse {
	readonly incoming: IncomingMessage;
	readonly body: BoundedReader;
	/** Closes the connection, unless the body was read to its end. */
	discard(): void;
}

/**
 * Sends one request and waits for the head of its response. An origin may close a keep-alive connection just when it is
 * reused: an idempotent request is then retried. Every retry uses up an idle connection, so their number is bounded.
 */
export async function sendRequest(hop: Hop, route: AgentRoute, abortSignal: AbortSignal): Promise<ReceivedResponse> {
	for (;;) {
		const attempt = startAttempt(hop, route, abortSignal);
		try {
			return await attempt.response;
		} catch (error) {
			const isStale = attempt.request.reusedSocket && isHangUp(error) && IDEMPOTENT_METHODS.has(hop.method);
			if (!isStale || abortSignal.aborted) throw error;
		}
	}
}

interface Attempt {
	readonly request: ClientRequest;
	readonly response: Promise<ReceivedResponse>;
}

function startAttempt(hop: Hop, route: AgentRoute, abortSignal: AbortSignal): Attempt {
	const options = {...route.options, method: hop.method, setHost: false, maxHeaderSize: MAX_HEAD_BYTES, abortSignal};
	const request = route.request(options);
	// The size of the head is limited already; beyond a number of headers Node drops them silently.
	request.maxHeadersCount = 0;
	const response = new Promise<ReceivedResponse>((resolve, reject) => {
		let body: BoundedReader | undefined;
		const abort = (): void => {
			const error = new Error('given up');
			body?.fail(error);
			reject(error);
			request.destroy(error);
		};
		abortSignal.addEventListener('abort', abort, {once: true});
		request.once('close', () => abortSignal.removeEventListener('abort', abort));
		request.once('response', incoming => {
			body = new BoundedReader(incoming, MAX_BUFFERED_BYTES);
			resolve({incoming, body, discard: () => void (incoming.readableEnded || request.destroy())});
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
	return {request, response};
}

/** Sends exactly the headers of the hop, the host and the length: none that Node would add by itself. */
function writeHead(request: ClientRequest, {method, url, headers, body}: Hop, {proxyHeaders}: AgentRoute): void {
	// Node has changed it to upper case.
	request.method = method;
	for (const [name, value] of headers) request.appendHeader(name, value);
	for (const [name, value] of proxyHeaders) if (!hasHeader(headers, name)) request.appendHeader(name, value);
	if (!hasHeader(headers, 'host')) request.setHeader('host', url.host);
	if (!hasHeader(headers, 'connection')) request.removeHeader('connection');
	request.removeHeader('transfer-encoding');
	if (body) request.setHeader('content-length', body.length);
	else request.removeHeader('content-length');
}

function isHangUp(error: unknown): boolean {
	return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
