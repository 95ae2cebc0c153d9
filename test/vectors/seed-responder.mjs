// Mock model endpoint for agent jobs: asks for one job over a CSV file, then reports a result as each of its workers.
//   as a module:  const responder = await startSeedResponder({spawnArgs, mode: 'normal'});  responder.baseUrl
//   as a command: node test/vectors/seed-responder.mjs --port 0 [--mode normal] [--spawn-args FILE] [--delay-ms 0]
import {readFileSync} from 'node:fs';
import http from 'node:http';
import {buffer} from 'node:stream/consumers';
import {setTimeout as sleep} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

export const PROMPT_MARK = 'You are processing one item for a generic agent job.';

const USAGE = {
	input_tokens: 1,
	input_tokens_details: {cached_tokens: 0},
	output_tokens: 1,
	output_tokens_details: {reasoning_tokens: 0},
	total_tokens: 2,
};

/** What a worker answers, by mode; it is given its number, its call id and a function that makes a report. */
const MODES = {
	normal: ({callId, report}) => work(reportCall(callId, report())),
	/** The first worker asks to stop. */
	stop: ({number, callId, report}) => work(reportCall(callId, report({stop: number === 0}))),
	/** Every third worker never reports. */
	silent: ({number, callId, report}) => (number % 3 === 0 ? work() : work(reportCall(callId, report()))),
	/** The result is not an object. */
	array: ({callId, report}) => work(reportCall(callId, report({result: [1]}))),
	/** Two reports in one response. */
	twice: ({callId, report}) =>
		work(reportCall(callId, report({result: {n: 1}})), reportCall(`${callId}b`, report({result: {n: 2}}))),
	/** Every worker reports for the first row. */
	wrong: ({callId, item, report}) => work(reportCall(callId, report({item_id: 'row-1', result: {by: item}}))),
	fail: () => [
		created('resp-worker'),
		{type: 'response.failed', response: {id: 'resp-worker', error: {code: 'server_error', message: 'synthetic'}}},
	],
	/** Each worker runs a command first, and reports its output. */
	command: ({callId, item}) =>
		work(call(callId, 'exec_command', JSON.stringify({cmd: `echo "did ${item}"`, login: false}))),
	/** The stream ends early. */
	cut: () => [created('resp-worker')],
};

/** With `holdWorkers` no worker is answered before so many have asked. */
export async function startSeedResponder({spawnArgs, mode = 'normal', delayMs = 0, port = 0, holdWorkers = 0} = {}) {
	let release;
	const held = new Promise(resolve => {
		release = resolve;
	});
	const stats = {main: 0, worker: 0, toolOutput: 0, fallback: 0, inflight: 0, maxInflight: 0, outputs: []};

	async function respond(request, response) {
		const path = request.url.split('?')[0];
		const raw = await buffer(request);
		if (request.method === 'GET' && path.endsWith('/models')) {
			return response.writeHead(200, {'content-type': 'application/json'}).end('{"models":[]}');
		}
		if (request.method !== 'POST' || !path.endsWith('/responses')) return response.writeHead(404).end();
		stats.inflight++;
		stats.maxInflight = Math.max(stats.maxInflight, stats.inflight);
		response.on('close', () => stats.inflight--);
		const events = await eventsFor(parse(raw));
		const isCut = events.length === 1;
		const text = events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('');
		response.writeHead(200, {'content-type': 'text/event-stream'}).end(isCut ? text : `${text}data: [DONE]\n\n`);
	}

	async function eventsFor(body) {
		const input = Array.isArray(body?.input) ? body.input : [];
		const outputs = input.filter(item => item?.type === 'function_call_output');
		const assignment = jobAndItem(body);
		if (outputs.length > 0 && mode === 'command' && assignment) return reportOutput(outputs.at(-1), assignment);
		if (outputs.length > 0) {
			stats.toolOutput++;
			stats.outputs.push(...outputs.map(({output}) => output));
			return [created('resp-tool'), completed('resp-tool')];
		}
		if (assignment) {
			const number = stats.worker++;
			if (stats.worker >= holdWorkers) release();
			await held;
			if (delayMs > 0) await sleep(delayMs);
			return answerOf(MODES[mode], number, assignment);
		}
		if (stats.main === 0 && spawnArgs) {
			stats.main++;
			const args = typeof spawnArgs === 'string' ? spawnArgs : JSON.stringify(spawnArgs);
			return [created('resp-main'), call('call-spawn', 'spawn_agents_on_csv', args), completed('resp-main')];
		}
		stats.fallback++;
		return [created('resp-default'), completed('resp-default')];
	}

	const server = http.createServer((request, response) => void respond(request, response));
	await new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(port, '127.0.0.1', resolve);
	});
	return {
		baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
		stats,
		close() {
			server.closeAllConnections();
			return new Promise(resolve => {
				server.close(() => resolve());
			});
		},
	};
}

/** The job and the item a worker was prompted with; undefined if the request is not a worker's. */
export function jobAndItem(body) {
	const messages = (Array.isArray(body?.input) ? body.input : []).filter(
		item => item?.type === 'message' && Array.isArray(item.content),
	);
	const texts = messages
		.flatMap(({content}) => content)
		.filter(part => part?.type === 'input_text' && typeof part.text === 'string')
		.map(({text}) => text);
	if (typeof body?.instructions === 'string') texts.push(body.instructions);
	const lines = texts.join('\n').split('\n');
	if (!texts.join('\n').includes(PROMPT_MARK)) return undefined;
	const valueOf = label =>
		lines
			.findLast(line => line.startsWith(label))
			?.slice(label.length)
			.trim();
	const job = valueOf('Job ID: ');
	const item = valueOf('Item ID: ');
	return job && item ? {job, item} : undefined;
}

function reportOutput({call_id: id, output}, {job, item}) {
	const args = {job_id: job, item_id: item, result: {output: output.split('Output:\n')[1]}};
	return work(reportCall(`${id}-report`, JSON.stringify(args)));
}

function answerOf(mode, number, {job, item}) {
	const report = changes => JSON.stringify({job_id: job, item_id: item, result: {item_id: item}, ...changes});
	return mode({number, callId: `call-worker-${number}`, item, report});
}

function work(...calls) {
	return [created('resp-worker'), ...calls, completed('resp-worker')];
}

function reportCall(callId, args) {
	return call(callId, 'report_agent_job_result', args);
}

function created(id) {
	return {type: 'response.created', response: {id, model: 'gpt-5', output: []}};
}

function completed(id) {
	return {type: 'response.completed', response: {id, usage: USAGE}};
}

function call(callId, name, args) {
	const item = {type: 'function_call', id: `item-${callId}`, call_id: callId, name, arguments: args};
	return {type: 'response.output_item.done', output_index: 0, item: {...item, status: 'completed'}};
}

function parse(bytes) {
	try {
		return JSON.parse(bytes.toString('utf8'));
	} catch {
		return undefined;
	}
}

async function main() {
	const {values: flags} = parseArgs({
		options: {
			port: {type: 'string', default: '0'},
			mode: {type: 'string', default: 'normal'},
			'delay-ms': {type: 'string', default: '0'},
			'spawn-args': {type: 'string'},
		},
	});
	if (!Object.hasOwn(MODES, flags.mode)) {
		console.error(`--mode is one of: ${Object.keys(MODES).join(', ')}`);
		process.exit(2);
	}
	const file = flags['spawn-args'];
	const {baseUrl, stats} = await startSeedResponder({
		port: Number(flags.port),
		mode: flags.mode,
		delayMs: Number(flags['delay-ms']),
		spawnArgs: file && readFileSync(file, 'utf8').trim(),
	});
	console.log(baseUrl);
	process.on('SIGTERM', () => {
		console.log(JSON.stringify({...stats, outputs: stats.outputs.length}));
		process.exit(0);
	});
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
