import {createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {json} from 'node:stream/consumers';
import {onTestFinished} from 'vitest';

/** Counts of the responder of `test/vectors`. */
export interface SeedStats {
	readonly main: number;
	readonly worker: number;
	readonly toolOutput: number;
	readonly fallback: number;
	readonly maxInflight: number;
	/** Outputs of calls that it was sent. */
	readonly outputs: readonly string[];
}

export interface SeedOptions {
	readonly spawnArgs?: object;
	readonly mode?: string;
	readonly delayMs?: number;
	/** No worker is answered before so many have asked. */
	readonly holdWorkers?: number;
}

interface SeedModule {
	startSeedResponder(options: SeedOptions): Promise<{baseUrl: string; stats: SeedStats; close(): Promise<void>}>;
}

/** The mock endpoint of the recorded fan-out cases; closed with the test. */
export async function seedResponder(options: SeedOptions = {}): Promise<{baseUrl: string; stats: SeedStats}> {
	const module = new URL('../vectors/seed-responder.mjs', import.meta.url).href;
	const responder = await ((await import(module)) as SeedModule).startSeedResponder(options);
	onTestFinished(() => responder.close());
	return responder;
}

/** A request to a scripted endpoint. */
export interface ModelCall {
	readonly url: string;
	readonly headers: IncomingHttpHeaders;
	readonly body: Record<string, unknown> & {readonly input: readonly Record<string, unknown>[]};
}

/** Answers one request: events as a stream, or whatever it writes itself. */
export type ModelAnswer =
	| readonly object[]
	| ((
			response: ServerResponse,
			call: ModelCall,
	  ) => readonly object[] | undefined | Promise<readonly object[] | undefined>);

export interface ScriptedModel {
	readonly baseUrl: string;
	readonly calls: readonly ModelCall[];
	/** TCP connections so far. */
	readonly connections: number;
}

/** An endpoint that gives these answers, one to each request, the last one to all that follow. */
export async function scriptedModel(...answers: readonly ModelAnswer[]): Promise<ScriptedModel> {
	const made: ModelCall[] = [];
	const state = {connections: 0};
	const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
		const call = {url: request.url!, headers: request.headers, body: (await json(request)) as ModelCall['body']};
		const answer = answers[Math.min(made.push(call), answers.length) - 1]!;
		const events = typeof answer === 'function' ? await answer(response, call) : answer;
		if (events) response.writeHead(200, {'content-type': 'text/event-stream'}).end(toStream(events));
	};
	const server = createServer((request, response) => void respond(request, response).catch(() => response.destroy()));
	server.on('connection', () => state.connections++);
	await new Promise<void>(resolve => {
		server.listen(0, '127.0.0.1', resolve);
	});
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
	return {
		baseUrl,
		calls: made,
		get connections() {
			return state.connections;
		},
	};
}

/** Events in the form with lines for their names, and without an end mark. */
export function toStream(events: readonly object[]): string {
	return events.map(event => `event: ${(event as {type?: string}).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

export function completed(id = 'resp'): object {
	return {type: 'response.completed', response: {id, usage: {input_tokens: 3, output_tokens: 4, total_tokens: 7}}};
}

export function says(text: string): object {
	return {
		type: 'response.output_item.done',
		item: {type: 'message', role: 'assistant', content: [{type: 'output_text', text}]},
	};
}

export function calls(name: string, args: object | string, callId = `call-${name}`): object {
	return {
		type: 'response.output_item.done',
		item: {
			type: 'function_call',
			call_id: callId,
			name,
			arguments: typeof args === 'string' ? args : JSON.stringify(args),
		},
	};
}
