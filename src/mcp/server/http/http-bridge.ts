import type {IncomingMessage, ServerResponse} from 'node:http';
import {Readable} from 'node:stream';

/** Handler of requests as the web has them. */
export type WebHandler = (request: Request) => Promise<Response>;

/** Methods whose requests have no body. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Answers a request of Node's server by a handler of the web's kind. A client that closes its connection aborts the
 * request, which is how clients cancel calls; a slow one holds back the answer.
 */
export async function bridge(request: IncomingMessage, response: ServerResponse, handle: WebHandler): Promise<void> {
	const gone = new AbortController();
	response.once('close', () => {
		if (!response.writableFinished) gone.abort(new DOMException('the client has left', 'AbortError'));
	});
	await send(await handle(toWebRequest(request, gone.signal)), response, gone.signal);
}

function toWebRequest(request: IncomingMessage, signal: AbortSignal): Request {
	const {method = 'GET', headers} = request;
	const pairs = Object.entries(headers).flatMap(([name, value]) =>
		(Array.isArray(value) ? value : [value ?? '']).map(each => [name, each] as [string, string]),
	);
	const url = new URL(request.url ?? '/', 'http://localhost');
	const hasBody = !BODILESS.has(method);
	const body = hasBody ? (Readable.toWeb(request) as ReadableStream<Uint8Array>) : undefined;
	return new Request(url, {method, headers: pairs, signal, ...(body && {body, duplex: 'half' as const})});
}

async function send(answer: Response, response: ServerResponse, gone: AbortSignal): Promise<void> {
	response.writeHead(answer.status, [...answer.headers].flat());
	const reader = answer.body?.getReader();
	if (reader) {
		// The reader ends the work behind the stream.
		gone.addEventListener('abort', () => void reader.cancel().catch(() => {}), {once: true});
		for (let read = await reader.read(); !read.done && !gone.aborted; read = await reader.read()) {
			if (!response.write(read.value)) await drained(response);
		}
	}
	response.end();
}

function drained(response: ServerResponse): Promise<void> {
	return new Promise(resolve => {
		response.once('drain', resolve);
		response.once('close', resolve);
	});
}
