import type {Result} from '../../protocol/methods/method-table.js';
import {encodeWithBytes, type JsonParts} from '../../protocol/wire/encode.js';
import {onAbort} from '../../shared/async/on-abort.js';
import type {SessionClient} from '../session/session-client.js';
import {type BodyStream, BodyStreams} from './body-streams.js';
import type {FetchInit, Http} from './http.js';
import {HttpError, toHttpError} from './http-error.js';
import {incomingResponse} from './incoming-response.js';
import {type OutgoingRequest, outgoingRequest} from './outgoing-request.js';

/** The network as another machine sees it. */
export class RemoteHttp implements Http {
	readonly #connect: () => Promise<SessionClient>;

	constructor(connect: () => Promise<SessionClient>) {
		this.#connect = connect;
	}

	async fetch(input: string | URL | Request, init: FetchInit = {}): Promise<Response> {
		const request = await outgoingRequest(input, init);
		const client = await this.#connected();
		try {
			return await exchange(client, request);
		} catch (error) {
			throw toHttpError(error);
		}
	}

	/** Where there is no link to begin with, its reason is what there is to say. */
	async #connected(): Promise<SessionClient> {
		try {
			return await this.#connect();
		} catch (cause) {
			throw new HttpError('disconnected', cause instanceof Error ? cause.message : String(cause), cause);
		}
	}
}

async function exchange(client: SessionClient, request: OutgoingRequest): Promise<Response> {
	const {signal} = request;
	signal?.throwIfAborted();
	if (request.usesVariables && !client.capabilities['httpHeaderEnvVars']) {
		throw new HttpError('unsupported', 'exec-server does not support httpHeaderEnvVars');
	}
	const stream = BodyStreams.of(client).open();
	const giveUp = () => {
		if (!stream.isOver && client.capabilities['httpCancel']) {
			client.call('http/cancel', {requestId: stream.id}).catch(() => {});
		}
		stream.close();
	};
	const head = await headUnder(signal, client, request, stream, giveUp);
	return incomingResponse(request, head, {next: () => stream.next(), cancel: giveUp});
}

/** A signal ends the wait at once; the answer to a request that was given up is ignored. */
async function headUnder(
	signal: AbortSignal | undefined,
	client: SessionClient,
	request: OutgoingRequest,
	stream: BodyStream,
	giveUp: () => void,
): Promise<Result<'http/request'>> {
	let stopListening: (() => void) | undefined;
	const aborted = new Promise<never>((_resolve, reject) => {
		stopListening = onAbort(signal, reason => {
			giveUp();
			reject(reason);
		});
	});
	try {
		return await Promise.race([client.call('http/request', encodeRequest(request, stream.id)), aborted]);
	} catch (error) {
		stream.close();
		throw error;
	} finally {
		stopListening?.();
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
