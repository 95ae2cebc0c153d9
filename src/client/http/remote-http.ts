import type {Result} from '../../protocol/methods/method-table.js';
import {encodeWithBytes, type JsonParts} from '../../protocol/wire/encode.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {abortable} from '../../shared/async/timeout.js';
import {errorMessage} from '../../shared/errors.js';
import type {SessionClient} from '../session/session-client.js';
import {type BodyStream, BodyStreams} from './body-streams.js';
import type {FetchInit, Http} from './http.js';
import {HttpError, toHttpError} from './http-error.js';
import {createResponse} from './incoming-response.js';
import {type OutgoingRequest, toOutgoingRequest} from './outgoing-request.js';

/** HTTP requests from another machine. */
export class RemoteHttp implements Http {
	readonly #connect: () => Promise<SessionClient>;

	constructor(connect: () => Promise<SessionClient>) {
		this.#connect = connect;
	}

	async fetch(input: string | URL | Request, init: FetchInit = {}): Promise<Response> {
		const request = await toOutgoingRequest(input, init);
		const client = await this.#getClient();
		try {
			return await exchange(client, request);
		} catch (error) {
			throw toHttpError(error);
		}
	}

	async #getClient(): Promise<SessionClient> {
		try {
			return await this.#connect();
		} catch (cause) {
			throw new HttpError('disconnected', errorMessage(cause), cause);
		}
	}
}

async function exchange(client: SessionClient, request: OutgoingRequest): Promise<Response> {
	request.signal?.throwIfAborted();
	const {capabilities} = await client.describe();
	if (request.usesVariables && !capabilities['httpHeaderEnvVars']) {
		throw new HttpError('unsupported', 'exec-server does not support httpHeaderEnvVars');
	}
	const stream = BodyStreams.forClient(client).open();
	const cancel = () => {
		if (!stream.isEnded && capabilities['httpCancel']) {
			client.call('http/cancel', {requestId: stream.id}).catch(() => {});
		}
		stream.close();
	};
	const head = await requestHead(client, request, stream, cancel);
	return createResponse(request, head, {next: () => stream.next(), cancel}, capabilities['httpFinalUrl'] === true);
}

/** Sends the request and waits for the response head. Aborting ends the wait at once; a late answer is ignored. */
async function requestHead(
	client: SessionClient,
	request: OutgoingRequest,
	stream: BodyStream,
	cancel: () => void,
): Promise<Result<'http/request'>> {
	const {signal} = request;
	const stopListening = onAbort(signal, cancel);
	try {
		return await abortable(client.call('http/request', encodeRequest(request, stream.id)), signal);
	} catch (error) {
		stream.close();
		throw error;
	} finally {
		stopListening();
	}
}

function encodeRequest(
	{method, url, headers, body, timeoutMs, redirect}: OutgoingRequest,
	requestId: string,
): JsonParts {
	return encodeWithBytes({
		method,
		url,
		headers,
		timeoutMs,
		redirectPolicy: redirect === 'follow' ? 'follow' : 'stop',
		requestId,
		streamResponse: true,
		bodyBase64: body,
	});
}
