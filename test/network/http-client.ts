import type {Grant} from '../../src/server/auth/grant.js';
import type {ServerOptions} from '../../src/server/options.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {refusal} from '../helpers/process-api.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

export interface Response {
	readonly status: number;
	readonly headers: readonly {name: string; value: string}[];
	readonly bodyBase64: string;
}

export interface Delta {
	readonly requestId: string;
	readonly seq: number;
	readonly deltaBase64: string;
	readonly done: boolean;
	readonly error: string | null;
}

/** Client of `http/request`. */
export class HttpClient {
	readonly client: TestClient;

	constructor(client: TestClient) {
		this.client = client;
	}

	request(url: string, extra: Record<string, unknown> = {}): Promise<Response> {
		return this.client.call<Response>('http/request', {method: 'GET', url, requestId: 'r', ...extra});
	}

	async text(url: string, extra?: Record<string, unknown>): Promise<string> {
		return textOf(await this.request(url, extra));
	}

	stream(url: string, requestId: string, extra: Record<string, unknown> = {}): Promise<Response> {
		return this.request(url, {requestId, streamResponse: true, ...extra});
	}

	refusal(url: string, extra?: Record<string, unknown>): Promise<unknown> {
		return refusal(this.request(url, extra));
	}

	deltas(requestId: string): Delta[] {
		return this.client.events
			.filter(({method}) => method === 'http/request/bodyDelta')
			.map(({params}) => params as unknown as Delta)
			.filter(delta => delta.requestId === requestId);
	}

	/** Every delta of a stream, once the last has come. */
	async allDeltas(requestId: string): Promise<Delta[]> {
		await this.client.until(() => this.deltas(requestId).some(({done}) => done), `the end of ${requestId}`);
		return this.deltas(requestId);
	}

	/** The body of a stream and what ended it. */
	async body(requestId: string): Promise<{bytes: Buffer; error: string | null}> {
		const deltas = await this.allDeltas(requestId);
		return {bytes: bytesOf(deltas), error: deltas.at(-1)!.error};
	}
}

/** A client of a server of its own, which sees no variables but these; it may do everything, or what the grant says. */
export async function httpClient(options: ServerOptions = {}, grant?: Grant): Promise<HttpClient> {
	const server = execServer({variables: {}, ...options});
	const [near, far] = memoryTransportPair();
	server.accept(far, grant);
	return new HttpClient(await new TestClient(near).initialize());
}

export function textOf({bodyBase64}: Response): string {
	return Buffer.from(bodyBase64, 'base64').toString();
}

export function bytesOf(deltas: readonly Delta[]): Buffer {
	return Buffer.concat(deltas.map(({deltaBase64}) => Buffer.from(deltaBase64, 'base64')));
}

export function valuesOf({headers}: Response, name: string): string[] {
	return headers.filter(each => each.name === name).map(({value}) => value);
}

export const failed = (text: string): {code: number; message: string} => ({code: -32_603, message: text});
export const invalid = (text: string): {code: number; message: string} => ({code: -32_602, message: text});
