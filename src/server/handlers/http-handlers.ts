import type {HttpRequest} from '../../network/http/http-request.js';
import type {WholeResponse} from '../../network/http/http-requests.js';
import type {BodySink} from '../../network/http/response-body.js';
import type {Params} from '../../protocol/methods/method-table.js';
import {JsonParts} from '../../protocol/wire/encode.js';
import {base64Length} from '../../shared/base64.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

export const httpHandlers = {
	'http/request': (params, client) => {
		const request = toRequest(params);
		if (params.streamResponse) return startStreaming(request, client);
		return client.http.fetch(request, response =>
			client.flow.reserveReply(base64Length(response.body.length), () => encodeResponse(response)),
		);
	},

	'http/cancel': ({requestId}, client) => {
		client.http.cancel(requestId);
		return {};
	},
} satisfies Handlers<ClientConnection>;

function toRequest(params: Params<'http/request'>): HttpRequest {
	return {
		id: params.requestId,
		method: params.method,
		url: params.url,
		headers: params.headers,
		body: params.bodyBase64 ?? undefined,
		timeoutMs: params.timeoutMs ?? undefined,
		redirects: params.redirectPolicy,
	};
}

async function startStreaming(request: HttpRequest, client: ClientConnection): Promise<JsonParts> {
	const {pump, ...head} = await client.http.stream(request);
	// Deferred, so that the reply, which is sent in this turn of the event loop, comes before the first delta.
	setImmediate(() => void pump(createBodySink(request.id, client)));
	return encodeResponse({...head, body: Buffer.alloc(0)});
}

function encodeResponse({status, headers, finalUrl, body}: WholeResponse): JsonParts {
	const url = finalUrl === undefined ? '' : `,"finalUrl":${JSON.stringify(finalUrl)}`;
	// By hand: most of a small response is its headers, and `JSON.stringify` takes all of them at once.
	return new JsonParts([`{"status":${status},"headers":${JSON.stringify(headers)}${url},"bodyBase64":"`, body, '"}']);
}

/** Sends a body as notifications. Back-pressure: `ready` waits until the client reads. */
function createBodySink(requestId: string, {rpc, flow}: ClientConnection): BodySink {
	let seq = 1;
	const start = `{"requestId":${JSON.stringify(requestId)},"seq":`;
	return {
		get isReady() {
			return flow.canSend || rpc.isClosed;
		},
		ready: async () => {
			while (!flow.canSend && !rpc.isClosed) await flow.whenWritable();
		},
		data: bytes => {
			const parts = [`${start}${seq++},"deltaBase64":"`, bytes, '","done":false,"error":null}'];
			rpc.notify('http/request/bodyDelta', new JsonParts(parts));
		},
		end: error => {
			rpc.notify('http/request/bodyDelta', {requestId, seq: seq++, deltaBase64: '', done: true, error});
		},
	};
}
