import {onAbort} from '../../shared/async/on-abort.js';
import {HttpError} from './http-error.js';
import type {OutgoingRequest} from './outgoing-request.js';

export interface ResponseHead {
	readonly status: number;
	/** In the order of the origin, with repeats. */
	readonly headers: readonly {readonly name: string; readonly value: string}[];
}

/** A body as it arrives. */
export interface BodySource {
	/** The next bytes; undefined at the end. */
	next(): Promise<Uint8Array | undefined>;
	/** Nothing more is wanted. */
	cancel(): void;
}

/** Statuses that have no body, whatever the origin says; a `Response` refuses one. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A standard response whose body is read as it arrives. */
export function incomingResponse(request: OutgoingRequest, head: ResponseHead, source: BodySource): Response {
	try {
		requireWanted(request, head);
		const headers = new Headers();
		for (const {name, value} of head.headers) headers.append(name, value);
		const hasBody = request.method !== 'HEAD' && !WITHOUT_BODY.has(head.status);
		if (!hasBody) void drained(source);
		const body = hasBody ? decoded(streamOf(source, request.signal), headers, request.decodes) : null;
		const response = new Response(body, {status: head.status, headers});
		// Where redirects were followed nobody tells where they led.
		if (request.redirect !== 'follow') Object.defineProperty(response, 'url', {value: request.url});
		return response;
	} catch (error) {
		source.cancel();
		throw error instanceof HttpError ? error : new HttpError('invalid-data', 'the response is not one', error);
	}
}

function requireWanted({redirect, url}: OutgoingRequest, {status, headers}: ResponseHead): void {
	if (redirect !== 'error' || !REDIRECTS.has(status) || !headers.some(({name}) => name === 'location')) return;
	throw new HttpError('redirected', `unexpected redirect of ${url}`);
}

/** What nobody reads comes to its end by itself. */
async function drained(source: BodySource): Promise<void> {
	try {
		while (await source.next());
	} catch {
		// Whether it was whole concerns nobody.
	}
}

function streamOf(source: BodySource, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
	let stopListening: (() => void) | undefined;
	let isOver = false;
	const over = () => {
		isOver = true;
		stopListening?.();
	};
	return new ReadableStream<Uint8Array>(
		{
			start: controller => {
				stopListening = onAbort(signal, reason => {
					over();
					source.cancel();
					controller.error(reason);
				});
			},
			pull: async controller => {
				let chunk: Uint8Array | undefined;
				try {
					chunk = await source.next();
				} catch (error) {
					if (isOver) return;
					over();
					throw error;
				}
				if (isOver) return;
				if (chunk) {
					controller.enqueue(chunk);
				} else {
					over();
					controller.close();
				}
			},
			cancel: () => {
				over();
				source.cancel();
			},
		},
		{highWaterMark: 0},
	);
}

/**
 * Unpacks what can be unpacked everywhere, and takes the headers off that do not hold any more: a response that has a
 * `content-encoding` is still encoded.
 */
function decoded(body: ReadableStream<Uint8Array>, headers: Headers, decodes: boolean): ReadableStream<Uint8Array> {
	const codings = (headers.get('content-encoding') ?? '').split(',').map(coding => coding.trim().toLowerCase());
	const formats = codings.filter(coding => coding !== '' && coding !== 'identity').map(coding => FORMATS.get(coding));
	if (!decodes || formats.length === 0 || formats.includes(undefined)) return body;
	headers.delete('content-encoding');
	headers.delete('content-length');
	let plain = body;
	for (const format of formats.reverse()) plain = plain.pipeThrough(new DecompressionStream(format!));
	return plain;
}

const FORMATS: ReadonlyMap<string, 'gzip' | 'deflate'> = new Map([
	['gzip', 'gzip'],
	['x-gzip', 'gzip'],
	['deflate', 'deflate'],
]);
