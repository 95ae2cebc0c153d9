import * as v from 'valibot';
import {bytes, empty, optionalField, u64} from '../wire/fields.js';
import {type Capabilities, clientRequest, serverNotification} from './declare-method.js';

const header = v.object({name: v.string(), value: v.string(), valueEnvVar: optionalField(v.string())});

const httpRequestParams = v.object({
	method: v.string(),
	url: v.string(),
	headers: v.optional(v.array(header), () => []),
	bodyBase64: optionalField(bytes),
	timeoutMs: optionalField(u64),
	redirectPolicy: v.optional(v.picklist(['follow', 'stop']), 'follow'),
	requestId: v.string(),
	streamResponse: v.nullish(v.boolean(), false),
});

const httpRequestResult = v.object({
	status: v.number(),
	headers: v.array(header),
	bodyBase64: bytes,
	/** longarm: URL of the response, if redirects were followed. Announced by `httpFinalUrl`. */
	finalUrl: v.optional(v.string()),
});

const httpBodyDeltaParams = v.object({
	requestId: v.string(),
	seq: u64,
	deltaBase64: bytes,
	done: v.optional(v.boolean(), false),
	error: v.nullish(v.string()),
});

const httpCancelParams = v.object({requestId: v.string()});

const forwardId = v.string();
const forwardOpenParams = v.object({forwardId, host: v.nullish(v.string(), '127.0.0.1'), port: u64});
const forwardReadParams = v.object({forwardId, maxBytes: optionalField(u64)});
const forwardReadResult = v.object({chunk: bytes, eof: v.boolean()});
const forwardWriteParams = v.object({forwardId, chunk: bytes, eof: v.nullish(v.boolean(), false)});
const forwardCloseParams = v.object({forwardId});

export const HTTP_CAPABILITIES: Capabilities = {httpHeaderEnvVars: true, httpFinalUrl: true};

/** HTTP requests and forwarded connections. */
export const HTTP_METHODS = {
	'http/request': clientRequest({
		family: 'http',
		since: 'v1',
		params: httpRequestParams,
		result: httpRequestResult,
		summary: "An HTTP request from the executor's place in the network.",
	}),
	'http/request/bodyDelta': serverNotification({
		family: 'http',
		since: 'v1',
		params: httpBodyDeltaParams,
		summary: 'A piece of a streamed response body.',
	}),
	'http/cancel': clientRequest({
		family: 'http',
		since: 'longarm',
		capability: 'httpCancel',
		params: httpCancelParams,
		result: empty,
		summary: 'Gives up a request, streaming or not.',
	}),
	'forward/open': clientRequest({
		family: 'http',
		since: 'longarm',
		capability: 'portForward',
		params: forwardOpenParams,
		result: empty,
		summary: 'A TCP connection to a port as the executor sees it.',
	}),
	'forward/read': clientRequest({
		family: 'http',
		since: 'longarm',
		capability: 'portForward',
		params: forwardReadParams,
		result: forwardReadResult,
		summary: 'What has arrived from the port; waits for it.',
	}),
	'forward/write': clientRequest({
		family: 'http',
		since: 'longarm',
		capability: 'portForward',
		params: forwardWriteParams,
		result: empty,
		summary: 'Bytes for the port; eof closes this direction.',
	}),
	'forward/close': clientRequest({
		family: 'http',
		since: 'longarm',
		capability: 'portForward',
		params: forwardCloseParams,
		result: empty,
		summary: 'Ends a forwarded connection at once.',
	}),
} as const;
