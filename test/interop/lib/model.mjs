import http from 'node:http';
import {buffer} from 'node:stream/consumers';
import zlib from 'node:zlib';

const USAGE = {
	input_tokens: 1,
	input_tokens_details: {cached_tokens: 0},
	output_tokens: 1,
	output_tokens_details: {reasoning_tokens: 0},
	total_tokens: 2,
};

let nextNumber = 1;

/** A call of a function tool, as a model would make it. */
export function call(name, args, extra = {}) {
	const callId = makeId('call');
	const item = {type: 'function_call', id: makeId('fc'), call_id: callId, name, status: 'completed'};
	return {...item, arguments: JSON.stringify(args), ...extra};
}

/** A call of a free-form tool. */
export function custom(name, input) {
	return {type: 'custom_tool_call', id: makeId('ct'), call_id: makeId('call'), name, input, status: 'completed'};
}

export function say(text) {
	const content = [{type: 'output_text', text, annotations: []}];
	return {type: 'message', id: makeId('msg'), role: 'assistant', status: 'completed', content};
}

/**
 * A scripted stand-in for a model behind the Responses API, with answers as server-sent events. A script is an async
 * generator: it yields the output items of the next model turn and is resumed with what the client sent back,
 * `{items, tools, output(call)}`. When it has returned, every later request gets a plain closing message.
 */
export class ModelServer {
	#sessions = new Map();
	#server = http.createServer((request, response) => void this.#answer(request, response));

	async start() {
		await new Promise(resolve => {
			this.#server.listen(0, '127.0.0.1', resolve);
		});
		return this;
	}

	/** Registers a script under a base URL of its own. */
	open(name, script) {
		const baseUrl = `http://127.0.0.1:${this.#server.address().port}/${name}/v1`;
		const session = {baseUrl, script, generator: undefined, errors: [], isFinished: false};
		this.#sessions.set(name, session);
		return session;
	}

	async stop() {
		this.#server.closeAllConnections();
		await new Promise(resolve => {
			this.#server.close(resolve);
		});
	}

	async #answer(request, response) {
		const [, name, , ...rest] = new URL(request.url, 'http://localhost').pathname.split('/');
		const session = this.#sessions.get(name);
		const raw = await buffer(request);
		if (!session || request.method !== 'POST' || rest.join('/') !== 'responses') {
			response.writeHead(404, {'content-type': 'application/json'}).end('{"error":{"message":"not scripted"}}');
			return;
		}
		let body;
		try {
			body = JSON.parse(decode(raw, request.headers['content-encoding']).toString('utf8'));
		} catch (error) {
			session.errors.push(`unreadable model request: ${error.message}`);
			response.writeHead(400).end();
			return;
		}
		sendItems(response, await nextItems(session, turnOf(body)));
	}
}

async function nextItems(session, turn) {
	if (session.isFinished) return [say('nothing left to do')];
	try {
		session.generator ??= session.script();
		const {done, value} = await session.generator.next(turn);
		session.isFinished = done;
		return value ?? [say('done')];
	} catch (error) {
		session.isFinished = true;
		session.errors.push(error.message);
		return [say(`script failed: ${error.message}`)];
	}
}

/** What the client sent back, for a script. */
function turnOf({input = [], tools = []}) {
	const outputs = input.filter(({type = ''}) => type.endsWith('_output'));
	const textsByCall = new Map(outputs.map(item => [item.call_id, textOf(item.output)]));
	return {items: input, tools, output: made => textsByCall.get(made.call_id)};
}

function sendItems(response, items) {
	const responseId = makeId('resp');
	const send = event => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
	response.writeHead(200, {'content-type': 'text/event-stream', 'cache-control': 'no-cache'});
	send({type: 'response.created', response: {id: responseId, status: 'in_progress', output: []}});
	for (const [index, item] of items.entries()) {
		send({type: 'response.output_item.added', output_index: index, item});
		send({type: 'response.output_item.done', output_index: index, item});
	}
	const completed = {id: responseId, status: 'completed', output: items, usage: USAGE};
	send({type: 'response.completed', response: completed});
	response.end();
}

function textOf(output) {
	if (typeof output === 'string') return output;
	if (Array.isArray(output)) return output.map(part => part.text ?? '').join('');
	return output === undefined ? undefined : JSON.stringify(output);
}

function decode(bytes, encoding) {
	if (encoding === 'gzip') return zlib.gunzipSync(bytes);
	if (encoding === 'zstd' && zlib.zstdDecompressSync) return zlib.zstdDecompressSync(bytes);
	return bytes;
}

function makeId(prefix) {
	return `${prefix}_${nextNumber++}`;
}
