import {createServer} from 'node:net';
import {inspect} from 'node:util';
import {expect, test} from 'vitest';
import {EndpointUrlError, ModelEndpoint} from '../../src/agent-loop/model/model-endpoint.js';
import {ModelError} from '../../src/agent-loop/model/model-error.js';
import type {ModelRequest} from '../../src/agent-loop/model/request-body.js';
import {ResponsesClient, type ResponsesClientOptions} from '../../src/agent-loop/model/responses-client.js';
import {backOffMs, parseRetryAfter, parseTryAgain} from '../../src/agent-loop/model/retry-delays.js';
import {withTimeEnough} from '../helpers/clock.js';
import {calls, completed, type ModelAnswer, says, scriptedModel, toStream} from '../helpers/model-endpoints.js';
import {eventually} from '../helpers/processes.js';

const KEY = 'sk-secret-0123456789';
const REQUEST: ModelRequest = {
	model: 'gpt-5',
	instructions: 'be brief',
	input: [{type: 'message', role: 'user', content: [{type: 'input_text', text: 'hi'}]}],
	tools: [],
	cacheKey: 'thread-1',
};

function clientOf(baseUrl: string, options: ResponsesClientOptions = {}): ResponsesClient {
	return new ResponsesClient(new ModelEndpoint(baseUrl, KEY), {baseDelayMs: 1, ...options});
}

async function failureOf(baseUrl: string): Promise<ModelError> {
	const error: unknown = await clientOf(baseUrl)
		.respond(REQUEST)
		.catch((reason: unknown) => reason);
	expect(error).toBeInstanceOf(ModelError);
	return error as ModelError;
}

function refuses(status: number, body: object | string, headers: Record<string, string> = {}): ModelAnswer {
	return response => {
		response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
		return undefined;
	};
}

function failed(code: string, message: string): readonly object[] {
	return [{type: 'response.failed', response: {id: 'resp', error: {code, message}}}];
}

test('a request has the headers and the body of the Responses API', async () => {
	const model = await scriptedModel([completed()]);
	const tool = {type: 'function', name: 'f', description: 'd', strict: false, parameters: {type: 'object'}} as const;
	const request: ModelRequest = {...REQUEST, tools: [tool], reasoningEffort: 'low', subagent: 'agent_job:j1'};
	await clientOf(model.baseUrl).respond(request);
	await clientOf(`${model.baseUrl}/`).respond(REQUEST);
	const [first, second] = model.calls;
	expect(first!.url).toBe('/v1/responses');
	expect(first!.headers).toMatchObject({
		authorization: `Bearer ${KEY}`,
		'content-type': 'application/json',
		accept: 'text/event-stream',
		'x-openai-subagent': 'agent_job:j1',
	});
	expect(first!.body).toEqual({
		model: 'gpt-5',
		instructions: 'be brief',
		input: REQUEST.input,
		tools: [tool],
		tool_choice: 'auto',
		parallel_tool_calls: true,
		reasoning: {effort: 'low'},
		include: ['reasoning.encrypted_content'],
		store: false,
		stream: true,
		prompt_cache_key: 'thread-1',
	});
	expect(second!.url).toBe('/v1/responses');
	expect(second!.headers).not.toHaveProperty('x-openai-subagent');
	expect(Object.keys(second!.body)).not.toContain('include');
	expect(Object.keys(second!.body)).not.toContain('reasoning');
});

test('a response has the items of the stream as they came, and the usage', async () => {
	const reasoning = {type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'xyz'};
	const model = await scriptedModel([
		{type: 'response.created', response: {id: 'resp'}},
		{type: 'response.output_text.delta', delta: 'h'},
		{type: 'response.output_item.done', output_index: 0, item: reasoning},
		calls('f', {a: 1}),
		says('hello'),
		completed('resp-7'),
	]);
	const {id, items, usage} = await clientOf(model.baseUrl).respond(REQUEST);
	expect(id).toBe('resp-7');
	expect(items[0]).toEqual(reasoning);
	expect(items.map(({type}) => type)).toEqual(['reasoning', 'function_call', 'message']);
	expect(usage).toEqual({inputTokens: 3, outputTokens: 4, totalTokens: 7});
});

test('data that is no JSON, end marks and usage without details are no obstacle', async () => {
	const end = {type: 'response.completed', response: {id: 'r', usage: {input_tokens: 0, input_tokens_details: null}}};
	const model = await scriptedModel(response => {
		response
			.writeHead(200)
			.end(`data: {oops\n\ndata: [DONE]\n\ndata: 3\n\n${toStream([says('x'), end])}data: [DONE]\n\n`);
		return undefined;
	});
	const {items} = await clientOf(model.baseUrl).respond(REQUEST);
	expect(items).toHaveLength(1);
});

test('requests one after the other share a connection', async () => {
	const model = await scriptedModel([says('x'), completed()]);
	const client = clientOf(model.baseUrl);
	for (let count = 0; count < 3; count++) await client.respond(REQUEST);
	expect(model.connections).toBeLessThanOrEqual(2);
});

test('a stream that breaks off is asked for again, and its items are dropped', async () => {
	const model = await scriptedModel(
		[calls('f', {}, 'lost')],
		response => {
			response.writeHead(200).write(toStream([calls('f', {}, 'lost, too')]), () => response.destroy());
			return undefined;
		},
		[calls('f', {}, 'kept'), completed()],
	);
	const {items} = await clientOf(model.baseUrl).respond(REQUEST);
	expect(items.map(item => item['call_id'])).toEqual(['kept']);
	expect(model.calls).toHaveLength(3);
});

test('a stream is tried six times, a request five times, and then it is final', async () => {
	const cut = await scriptedModel([says('x')]);
	expect(await failureOf(cut.baseUrl)).toMatchObject({
		reason: 'stream',
		message: 'stream closed before response.completed',
		isRetryable: false,
	});
	expect(cut.calls).toHaveLength(6);
	const down = await scriptedModel(refuses(503, 'upstream is down'));
	expect(await failureOf(down.baseUrl)).toMatchObject({
		reason: 'server',
		message: 'the model endpoint answered 503 Service Unavailable: upstream is down',
	});
	expect(down.calls).toHaveLength(5);
});

test('an endpoint that nothing listens on is tried again, and the reason is told', async () => {
	const server = createServer().listen(0, '127.0.0.1');
	await new Promise(resolve => {
		server.once('listening', resolve);
	});
	const {port} = server.address() as {port: number};
	await new Promise(resolve => {
		server.close(resolve);
	});
	const retries: string[] = [];
	const client = clientOf(`http://127.0.0.1:${port}/v1`);
	const responding = client.respond(REQUEST, {onRetry: ({message}) => retries.push(message)});
	await expect(responding).rejects.toMatchObject({
		reason: 'connection',
		message: expect.stringContaining('ECONNREFUSED') as string,
	});
	expect(retries).toHaveLength(4);
});

test('a rate limit is waited for as long as the endpoint asks', async () => {
	const model = await scriptedModel(
		refuses(429, {error: {code: 'rate_limit_exceeded', message: 'slow down'}}, {'retry-after': '0.02'}),
		failed('rate_limit_exceeded', 'Rate limit reached. Please try again in 30ms.'),
		[completed()],
	);
	const delays: number[] = [];
	await clientOf(model.baseUrl).respond(REQUEST, {onRetry: (_error, delayMs) => delays.push(delayMs)});
	expect(delays).toEqual([20, 30]);
});

test('an endpoint that asks for a wait of hours fails at once', async () => {
	const model = await scriptedModel(refuses(429, {error: {message: 'later'}}, {'retry-after': '7200'}));
	expect(await failureOf(model.baseUrl)).toMatchObject({reason: 'rate-limit', waitMs: 7_200_000});
	expect(model.calls).toHaveLength(1);
});

test.each([
	[failed('context_length_exceeded', 'too long'), 'context-window'],
	[failed('insufficient_quota', 'pay first'), 'quota'],
	[failed('content_policy_violation', 'no'), 'policy'],
	[failed('invalid_prompt', 'what'), 'invalid-request'],
	[[{type: 'response.incomplete', response: {incomplete_details: {reason: 'max_output_tokens'}}}], 'incomplete'],
	[[{type: 'response.incomplete', response: {incomplete_details: {reason: 'content_filter'}}}], 'policy'],
	[refuses(400, {error: {type: 'invalid_request_error', message: 'no such model'}}), 'invalid-request'],
	[refuses(401, {error: {code: 'invalid_api_key', message: 'who are you'}}), 'credentials'],
	[refuses(404, ''), 'invalid-request'],
	[refuses(429, {error: {code: 'insufficient_quota', message: 'pay first'}}), 'quota'],
	[refuses(307, '', {location: 'http://127.0.0.1:1/v1/responses'}), 'invalid-request'],
] as const)('a refusal that another request would not change is not tried again (%#)', async (answer, reason) => {
	const model = await scriptedModel(answer);
	expect(await failureOf(model.baseUrl)).toMatchObject({reason});
	expect(model.calls).toHaveLength(1);
});

test('a stream that falls silent is given up', async () => {
	const retries = await withTimeEnough(async maxSilenceMs => {
		const model = await scriptedModel(
			response => {
				response.writeHead(200).write(toStream([says('x')]));
				return undefined;
			},
			[completed('second')],
		);
		const told: string[] = [];
		const answering = clientOf(model.baseUrl, {maxSilenceMs}).respond(REQUEST, {
			onRetry: ({message}) => told.push(message),
		});
		const answer = await answering.catch(() => undefined);
		return answer?.id === 'second' ? told : undefined;
	});
	expect(retries[0]).toBe('idle timeout waiting for SSE');
});

test('an abort ends a request, a stream and the pause before a retry with its reason', async () => {
	const reason = new Error('enough');
	const silent = await scriptedModel(() => new Promise(() => {}));
	const early = new AbortController();
	const waiting = clientOf(silent.baseUrl).respond(REQUEST, {signal: early.signal});
	await eventually(() => silent.calls.length === 1);
	early.abort(reason);
	await expect(waiting).rejects.toBe(reason);

	const down = await scriptedModel(refuses(500, ''));
	const late = new AbortController();
	const pausing = clientOf(down.baseUrl, {baseDelayMs: 100_000}).respond(REQUEST, {
		signal: late.signal,
		onRetry: () => queueMicrotask(() => late.abort(reason)),
	});
	await expect(pausing).rejects.toBe(reason);
	await expect(clientOf(down.baseUrl).respond(REQUEST, {signal: AbortSignal.abort(reason)})).rejects.toBe(reason);
});

test('the key is in no error and in nothing that is printed', async () => {
	const model = await scriptedModel(refuses(401, {error: {message: `wrong key ${KEY}`}}));
	const error = await failureOf(model.baseUrl);
	expect(error.message).toBe('the model endpoint answered 401 Unauthorized: wrong key [key]');
	const endpoint = new ModelEndpoint(model.baseUrl, KEY);
	const shown = [error, error.stack, endpoint, new ResponsesClient(endpoint)].map(value =>
		inspect(value, {depth: 10, showHidden: true}),
	);
	expect(shown.join('\n')).not.toContain(KEY);
	expect(JSON.stringify(endpoint)).not.toContain(KEY);
});

test('a base URL with a password, of another scheme or that is none is refused without repeating it', () => {
	for (const url of ['http://user:hunter2@host/v1', 'ftp://host/hunter2', 'hunter2']) {
		expect(() => new ModelEndpoint(url, KEY)).toThrow(EndpointUrlError);
		expect(() => new ModelEndpoint(url, KEY)).not.toThrow(/hunter2/);
	}
	expect(new ModelEndpoint('https://host/v1/?api-version=3', KEY).url).toBe('https://host/v1/responses?api-version=3');
});

function isExposed(url: string): boolean {
	return new ModelEndpoint(url, KEY).isExposed;
}

test('a key in clear text is noticed, but not on the way to this machine', () => {
	expect(['http://10.0.0.1/v1', 'http://example.com/v1'].map(isExposed)).toEqual([true, true]);
	expect(['https://example.com', 'http://127.0.0.1:1', 'http://localhost', 'http://[::1]:3'].map(isExposed)).toEqual([
		false,
		false,
		false,
		false,
	]);
});

test('the back-off doubles, with a tenth more or less', () => {
	expect([1, 2, 3, 4, 5].map(attempt => backOffMs(attempt, 200, () => 0.5))).toEqual([200, 400, 800, 1600, 3200]);
	expect(backOffMs(1, 200, () => 0)).toBeCloseTo(180);
	expect(backOffMs(1, 200, () => 1)).toBeCloseTo(220);
});

test('waiting times are read in every form', () => {
	const now = Date.parse('2026-01-01T00:00:00Z');
	expect(parseRetryAfter('1.5', now)).toBe(1500);
	expect(parseRetryAfter('Thu, 01 Jan 2026 00:00:07 GMT', now)).toBe(7000);
	expect(parseRetryAfter('Wed, 31 Dec 2025 00:00:07 GMT', now)).toBe(0);
	expect([null, '', 'soon'].map(value => parseRetryAfter(value, now))).toEqual([undefined, undefined, undefined]);
	expect(parseTryAgain('Please try again in 1.5s.')).toBe(1500);
	expect(parseTryAgain('Try again in 20 ms')).toBe(20);
	expect(parseTryAgain('try again in 2 seconds')).toBe(2000);
	expect(parseTryAgain('try again later')).toBeUndefined();
});
