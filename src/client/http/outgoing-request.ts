import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import type {FetchInit, VariableHeader} from './http.js';
import {HttpError} from './http-error.js';

/** Room for the largest request head and the JSON around it. */
const ENVELOPE_BYTES = 2 * 1024 * 1024;
/** Largest body that fits a message, as base64. Local requests have the same limit, so that both behave the same. */
export const MAX_BODY_BYTES = ((MAX_MESSAGE_BYTES - ENVELOPE_BYTES) / 4) * 3;

/** The arguments of `fetch`, normalized. */
export interface OutgoingRequest {
	readonly method: string;
	readonly url: string;
	readonly headers: readonly (VariableHeader | {readonly name: string; readonly value: string})[];
	readonly body: Uint8Array | undefined;
	readonly timeoutMs: number | undefined;
	readonly redirect: Request['redirect'];
	readonly usesVariables: boolean;
	readonly decodes: boolean;
	readonly signal: AbortSignal | undefined;
}

/**
 * Normalizes the arguments of `fetch`; the standard `Request` checks them and converts all kinds of bodies. Throws a
 * `TypeError` as `fetch` does.
 */
export async function toOutgoingRequest(input: string | URL | Request, init: FetchInit): Promise<OutgoingRequest> {
	const {timeoutMs, variableHeaders = [], decode = true, ...standard} = init;
	const given = input instanceof Request ? input : undefined;
	const signal = (standard.signal === undefined ? given?.signal : standard.signal) ?? undefined;
	signal?.throwIfAborted();
	// Not among the members that the declarations of browsers have.
	const duplex = {duplex: 'half'} as object;
	const request = new Request(input, {...standard, ...duplex});
	// Not those of the `Request`: in browsers it drops headers a page may not send, and the executor sends these.
	const headers = new Headers(standard.headers ?? given?.headers);
	const type = request.headers.get('content-type');
	if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
	return {
		method: request.method,
		url: request.url,
		headers: [...Array.from(headers, ([name, value]) => ({name, value})), ...variableHeaders],
		body: request.body ? await readBody(request.body, signal) : undefined,
		timeoutMs,
		redirect: request.redirect,
		usesVariables: variableHeaders.length > 0,
		decodes: decode,
		signal,
	};
}

async function readBody(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	let length = 0;
	const sink = new WritableStream<Uint8Array>({
		write: chunk => {
			length += chunk.length;
			if (length > MAX_BODY_BYTES) {
				throw new HttpError('invalid', `request body is larger than the ${MAX_BODY_BYTES} bytes that fit a message`);
			}
			chunks.push(chunk);
		},
	});
	await body.pipeTo(sink, signal && {signal});
	return concatenate(chunks, length);
}

function concatenate(chunks: readonly Uint8Array[], length: number): Uint8Array {
	if (chunks.length === 1) return chunks[0]!;
	const whole = new Uint8Array(length);
	let offset = 0;
	for (const chunk of chunks) {
		whole.set(chunk, offset);
		offset += chunk.length;
	}
	return whole;
}
