import {onAbort} from '../../shared/async/on-abort.js';
import {HttpError} from './http-error.js';
import type {OutgoingRequest} from './outgoing-request.js';

export interface ResponseHead {
	readonly status: number;
	/** In the order the origin sent them, with repeats. */
	readonly headers: readonly {readonly name: string; readonly value: string}[];
	/** URL of the response, if redirects were followed and the executor reports where they led. */
	readonly finalUrl?: string | undefined;
}

/** Pull source of a response body. */
export interface BodySource {
	/** The next bytes; undefined at the end. */
	next(): Promise<Uint8Array | undefined>;
	/** Gives up the rest of the body. */
	cancel(): void;
}

/** Statuses without a body, whatever the origin sends; the `Response` constructor throws if one is given. */
const STATUSES_WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const COMPRESSION_FORMATS: ReadonlyMap<string, 'gzip' | 'deflate'> = new Map([
	['gzip', 'gzip'],
	['x-gzip', 'gzip'],
	['deflate', 'deflate'],
]);

/** A standard response whose body is read as it arrives. */
export function createResponse(
	request: OutgoingRequest,
	head: ResponseHead,
	source: BodySource,
	reportsRedirects = true,
): Response {
	try {
		rejectUnwantedRedirect(request, head);
		const headers = new Headers();
		for (const {name, value} of head.headers) headers.append(name, value);
		const hasBody = request.method !== 'HEAD' && !STATUSES_WITHOUT_BODY.has(head.status);
		if (!hasBody) void drain(source);
		const body = hasBody ? decompress(toReadableStream(source, request.signal), headers, request.decodes) : null;
		const response = new Response(body, {status: head.status, headers});
		describeOrigin(response, request, head, reportsRedirects);
		return response;
	} catch (error) {
		source.cancel();
		throw error instanceof HttpError ? error : new HttpError('invalid-data', 'the response is not one', error);
	}
}

function rejectUnwantedRedirect({redirect, url}: OutgoingRequest, {status, headers}: ResponseHead): void {
	if (redirect !== 'error' || !REDIRECT_STATUSES.has(status) || !headers.some(({name}) => name === 'location')) return;
	throw new HttpError('redirected', `unexpected redirect of ${url}`);
}

/** An executor that does not report redirects may have followed some: the URL is not known then. */
function describeOrigin(
	response: Response,
	{url, redirect}: OutgoingRequest,
	{finalUrl}: ResponseHead,
	reportsRedirects: boolean,
): void {
	if (redirect === 'follow' && !reportsRedirects) return;
	// A response has no fragment, unlike its request.
	Object.defineProperty(response, 'url', {value: (finalUrl ?? url).replace(/#.*$/s, '')});
	Object.defineProperty(response, 'redirected', {value: finalUrl !== undefined});
}

/** Reads and drops a body that the caller cannot read, so that it comes to its end. */
async function drain(source: BodySource): Promise<void> {
	try {
		while (await source.next());
	} catch {
		// The body is dropped, so an incomplete one is no failure.
	}
}

function toReadableStream(source: BodySource, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
	let stopListening: (() => void) | undefined;
	let isEnded = false;
	const end = () => {
		isEnded = true;
		stopListening?.();
	};
	return new ReadableStream<Uint8Array>(
		{
			start: controller => {
				stopListening = onAbort(signal, reason => {
					end();
					source.cancel();
					controller.error(reason);
				});
			},
			pull: async controller => {
				let chunk: Uint8Array | undefined;
				try {
					chunk = await source.next();
				} catch (error) {
					if (isEnded) return;
					end();
					throw error;
				}
				if (isEnded) return;
				if (chunk) {
					controller.enqueue(chunk);
				} else {
					end();
					controller.close();
				}
			},
			cancel: () => {
				end();
				source.cancel();
			},
		},
		{highWaterMark: 0},
	);
}

/**
 * Decompresses the encodings that every platform supports, and removes the headers that do not apply any more: a
 * response with a `content-encoding` is still encoded.
 */
function decompress(body: ReadableStream<Uint8Array>, headers: Headers, decodes: boolean): ReadableStream<Uint8Array> {
	const codings = (headers.get('content-encoding') ?? '').split(',').map(coding => coding.trim().toLowerCase());
	const formats = codings
		.filter(coding => coding !== '' && coding !== 'identity')
		.map(coding => COMPRESSION_FORMATS.get(coding));
	if (!decodes || formats.length === 0 || formats.includes(undefined)) return body;
	headers.delete('content-encoding');
	headers.delete('content-length');
	let plain = body;
	for (const format of formats.reverse()) {
		// Declarations of browsers and of Node name the chunks of its two ends differently.
		const stream = new DecompressionStream(format!) as unknown as {
			writable: WritableStream<Uint8Array>;
			readable: ReadableStream<Uint8Array>;
		};
		plain = plain.pipeThrough(stream);
	}
	return plain;
}
