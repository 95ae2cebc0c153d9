// Costs of a long build for an agent that uses `longarm mcp`: calls and tokens by kind of client, beside the definitions.
//   node bench/mcp-cost.mjs [--minutes 20] [--scale 120]
// Time is scaled: with 120, twenty minutes take ten seconds, and so do the limits of the server. A token is taken for four
// characters. Counted are the arguments of calls and the answers of tools without the output of the build itself.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {readOptions} from './lib/options.mjs';

const TASKS = 'io.modelcontextprotocol/tasks';
const CHARACTERS_PER_TOKEN = 4;
/** All definitions of the tools of Desktop Commander, as published. */
const OTHER_DEFINITIONS_CHARACTERS = 51_700;
/** Limits of the server, in milliseconds, before they are scaled. */
const GRACE_MS = 10_000;
const MAX_WAIT_MS = 45_000;

const {minutes, scale} = readOptions('Calls and tokens of a long build, by kind of MCP client.', {
	minutes: {default: 20, help: 'length of the build'},
	scale: {default: 120, help: 'times faster than in life, limits included'},
});
const buildMs = (minutes * 60_000) / scale;
const longarm = fileURLToPath(new URL('../dist/bin/longarm.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'longarm-mcp-cost-'));
const env = {...process.env, HOME: home, LONGARM_HOME: home, XDG_STATE_HOME: home};
const machine = spawn(
	process.execPath,
	[longarm, 'serve', '--listen', 'ws://127.0.0.1:0', '--state', join(home, 'state')],
	{env, stdio: ['ignore', 'pipe', 'ignore']},
);
const [url] = await once(createInterface({input: machine.stdout}), 'line');
try {
	await main();
} finally {
	machine.kill('SIGTERM');
	await once(machine, 'exit');
	rmSync(home, {recursive: true, force: true});
}

async function main() {
	const definitions = await withClient({}, async client => {
		const {tools} = await client.request('tools/list');
		const {instructions} = await client.request('server/discover');
		return {tools: tools.length, characters: JSON.stringify(tools).length, instructions: instructions.length};
	});
	console.log(
		`definitions: ${definitions.tools} tools, ${definitions.characters} characters, ${toTokens(definitions.characters)} tokens; instructions ${definitions.instructions} characters`,
	);
	console.log(
		`Desktop Commander: ${OTHER_DEFINITIONS_CHARACTERS} characters, ${toTokens(OTHER_DEFINITIONS_CHARACTERS)} tokens (${(OTHER_DEFINITIONS_CHARACTERS / definitions.characters).toFixed(1)} times)`,
	);
	console.log(`a build of ${minutes} minutes, scaled by ${scale}:`);
	for (const [name, run] of Object.entries({tasks: withTasks, progress: withProgress, silent: withoutAnything})) {
		const {calls, characters} = await run();
		console.log(`  ${name.padEnd(8)} ${calls} tool calls, ${toTokens(characters)} tokens besides the output`);
	}
}

/** The client polls by itself; the model has one call and its result. */
function withTasks() {
	return withClient({extensions: {[TASKS]: {}}}, async client => {
		const {taskId} = await client.call('exec', {command: buildCommand()});
		let task;
		do {
			await new Promise(resolve => setTimeout(resolve, 100));
			task = await client.request('tasks/get', {taskId});
		} while (task.status === 'working');
		client.countAnswer(task.result);
		return client.cost;
	});
}

function withProgress() {
	return withClient({}, async client => {
		await client.call('exec', {command: buildCommand(), wait_s: 1800}, {progressToken: 1});
		return client.cost;
	});
}

function withoutAnything() {
	return withClient({}, async client => {
		let text = await client.call('exec', {command: buildCommand()});
		const [, id] = /· (p\d+) ·/.exec(text.content[0].text);
		while (text.content[0].text.startsWith('[running')) text = await client.call('wait', {id});
		return client.cost;
	});
}

function buildCommand() {
	return `echo begun; sleep ${buildMs / 1000}; echo built`;
}

async function withClient(capabilities, work) {
	const limits = ['--grace', `${GRACE_MS / scale}ms`, '--max-wait', `${MAX_WAIT_MS / scale}ms`];
	const child = spawn(process.execPath, [longarm, 'mcp', '-e', url, ...limits], {
		env,
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	const pending = new Map();
	createInterface({input: child.stdout}).on('line', line => {
		const message = JSON.parse(line);
		if (message.method === undefined) pending.get(message.id)?.(message);
	});
	const client = {
		cost: {calls: 0, characters: 0},
		async request(method, params = {}, meta = {}) {
			const id = pending.size + 1;
			const answered = new Promise(resolve => pending.set(id, resolve));
			const _meta = {
				'io.modelcontextprotocol/protocolVersion': '2026-07-28',
				'io.modelcontextprotocol/clientInfo': {name: 'cost', version: '1'},
				'io.modelcontextprotocol/clientCapabilities': capabilities,
				...meta,
			};
			child.stdin.write(`${JSON.stringify({jsonrpc: '2.0', id, method, params: {...params, _meta}})}\n`);
			const {result, error} = await answered;
			if (error) throw new Error(error.message);
			return result;
		},
		async call(name, given, meta) {
			client.cost.calls++;
			client.cost.characters += name.length + JSON.stringify(given).length;
			const result = await client.request('tools/call', {name, arguments: given}, meta);
			// A task is shown to the model by its id.
			if (result.resultType === 'task') client.cost.characters += result.taskId.length;
			else client.countAnswer(result);
			return result;
		},
		countAnswer({content: [{text}]}) {
			const own = text.split('\n').filter(line => line !== 'begun' && line !== 'built');
			client.cost.characters += own.join('\n').length;
		},
	};
	try {
		return await work(client);
	} finally {
		child.stdin.end();
		await once(child, 'exit');
	}
}

function toTokens(characters) {
	return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
