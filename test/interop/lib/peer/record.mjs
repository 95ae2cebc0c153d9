// Records one version of codex as a peer: its messages, enums, capabilities, flags and timers.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {until} from '../child.mjs';
import {ModelServer} from '../model.mjs';
import {Rig} from '../rig.mjs';
import {Scratch, startServer} from '../surroundings.mjs';
import {measureHubClient, measureWebSocketClient} from './client-timers.mjs';
import {readFlags} from './help-flags.mjs';
import {listCandidates} from './method-names.mjs';
import {listSamples} from './method-samples.mjs';
import {isServed, probeParams} from './params-probe.mjs';
import {RawClient} from './raw-client.mjs';
import {isClosed, measurePingInterval, measureProcessRetention, measureSessionLifetime} from './server-timers.mjs';
import {joinNames, sortKeys} from './sorting.mjs';
import {WireShapes} from './wire.mjs';

const RUN = fileURLToPath(new URL('../../run.mjs', import.meta.url));
/** Its messages are those of our own client. */
const OWN_SCENARIO = 'm-mcp-longarm';
const SKILL = '---\nname: sample\ndescription: a sample\n---\n';
/** Notifications that the samples lead to. */
const EXPECTED = ['fs/missingChanged', 'http/request/bodyDelta', 'network/policyDecision', 'network/policyRequest'];

/** Records the program `codexBin`; `dist` is the built package whose hub is used, `log` gets a line per finished part. */
export async function recordPeer(codexBin, {dist, log}) {
	// Before anything is measured: reading a program takes seconds, in which no event is noticed.
	const candidates = listCandidates(codexBin);
	const scratch = new Scratch();
	const model = await new ModelServer().start();
	addConfiguration(scratch);
	const server = await startServer(`exec "${codexBin}" exec-server --listen ws://127.0.0.1:0`, scratch);
	const rig = new Rig({codexBin, scratch, model});
	const part = async (name, work) => {
		const began = performance.now();
		const value = await work;
		log(`${name}: ${Math.round((performance.now() - began) / 1000)} s`);
		return value;
	};
	const shapes = new WireShapes();
	try {
		const [probed, , sessionLifetimeMs, closedProcessRetentionMs, pingIntervalMs, client, hubClient] =
			await Promise.all([
				part('messages by probing', probeMessages(candidates, server.url, scratch, shapes)),
				part('messages of the scenarios', recordScenarios(codexBin, scratch.folder('transcripts'), shapes)),
				part('session lifetime', measureSessionLifetime(server.url)),
				part('retention of closed processes', measureProcessRetention(server.url)),
				part('ping interval', measurePingInterval(server.url)),
				part('client on a WebSocket', measureWebSocketClient(rig, server.url)),
				part('client behind a hub', measureHubClient(rig, dist)),
			]);
		return {
			timers: {server: {sessionLifetimeMs, closedProcessRetentionMs, pingIntervalMs}, client, hubClient},
			capabilities: sortKeys(probed.capabilities),
			flags: readFlags(codexBin),
			...describeMessages(probed, shapes),
		};
	} finally {
		await server.child.stop();
		await model.stop();
		scratch.remove();
	}
}

/** Gives the server a configuration, a skill and a plugin, so that answers about them have all their members. */
function addConfiguration(scratch) {
	const home = scratch.folder('server', 'codex-home');
	fs.writeFileSync(path.join(home, 'config.toml'), '[mcp_servers.sample]\nurl = "http://127.0.0.1:1/mcp"\n');
	const plugin = scratch.folder('probe', 'plugin');
	for (const folder of [home, plugin]) {
		fs.mkdirSync(path.join(folder, 'skills/sample'), {recursive: true});
		fs.writeFileSync(path.join(folder, 'skills/sample/SKILL.md'), SKILL);
	}
	fs.mkdirSync(path.join(plugin, '.codex-plugin'));
	fs.writeFileSync(path.join(plugin, '.codex-plugin/plugin.json'), '{"name": "sample"}');
}

/** Finds the methods of the server, how it decodes their parameters, and their results. */
async function probeMessages(candidates, url, scratch, shapes) {
	const origin = await startOrigin();
	try {
		const samples = listSamples(scratch.folder('probe'), origin.url);
		const {params, enums, served} = await probeRequests(candidates, url, samples);
		const sent = await sendSamples(
			url,
			samples.filter(({method}) => method !== 'initialize' && served.includes(method)),
			shapes,
		);
		return {params, enums, served, ...sent};
	} finally {
		origin.stop();
	}
}

async function probeRequests(candidates, url, samples) {
	const client = await RawClient.connect(url);
	const known = new Set(samples.map(({method}) => method));
	const served = [];
	for (const name of new Set([...known, ...candidates])) if (await isServed(client, name)) served.push(name);
	const params = {};
	const enums = {};
	for (const method of served) {
		const valid = samples.find(sample => sample.method === method)?.params ?? {};
		const {enums: names, ...found} = await probeParams(client, method, valid);
		params[method] = found;
		for (const [member, values] of Object.entries(names)) enums[`${method} ${member}`] = values;
	}
	client.drop();
	return {params, enums, served};
}

/** Sends the samples and adds their results and what the server sends by itself; settles with `{capabilities, failures}`. */
async function sendSamples(url, samples, shapes) {
	const client = await RawClient.connect(url, {answer: () => ({decision: {type: 'deny', reason: 'not_allowed'}})});
	const greeting = await client.greet();
	shapes.add('initialize', 'result', greeting.result);
	const failures = {};
	for (const {method, call} of samples) {
		const {result, error} = await client.call(method, call);
		if (error) failures[method] = error.message;
		else shapes.add(method, 'result', result);
	}
	await until(`messages of the server: ${EXPECTED.join(', ')}`, () =>
		EXPECTED.every(name => client.received.some(({method}) => method === name)),
	);
	await until('the end of the terminal', () => isClosed(client, 'terminal'));
	const ended = await client.call('process/read', {processId: 'terminal'});
	shapes.add('process/read', 'result', ended.result);
	for (const {id, method, params} of client.received)
		shapes.add(method, id === undefined ? 'notified' : 'asked', params);
	client.drop();
	return {capabilities: greeting.result.environmentInfo.capabilities, failures};
}

/** Runs the scenarios of the client with a server of the same version, and adds the messages between them. */
async function recordScenarios(codexBin, folder, shapes) {
	const child = spawn(process.execPath, [RUN, '--transcripts', folder, '--skip', OWN_SCENARIO], {
		env: {...process.env, CODEX_BIN: codexBin},
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let output = '';
	child.stdout.setEncoding('utf8').on('data', text => {
		output += text;
	});
	const [status] = await once(child, 'close');
	// A scenario that fails or is skipped would leave members out of the record.
	const missing = output
		.split('\n')
		.filter(line => /^(?:FAIL|SKIP) /.test(line) && !line.startsWith(`SKIP ${OWN_SCENARIO}:`));
	if (status !== 0 || missing.length > 0)
		throw new Error(`not every scenario could be recorded:\n${missing.join('\n')}`);
	shapes.addTranscripts(folder);
}

function describeMessages({params, enums, served, failures}, {methods, names}) {
	const fromServer = role =>
		Object.fromEntries(Object.entries(methods).flatMap(([name, roles]) => (roles[role] ? [[name, roles[role]]] : [])));
	const sent = Object.keys(methods).filter(name => methods[name].sent);
	const observed = Object.entries(names).map(([member, values]) => [member, joinNames(values)]);
	return {
		methods: sortKeys(
			Object.fromEntries(
				[...new Set([...served, ...sent])].map(name => {
					const {sent: sentParams, result} = methods[name] ?? {};
					return [name, {...params[name], sent: sentParams, result, failure: failures[name]}];
				}),
			),
		),
		notifications: sortKeys(fromServer('notified')),
		serverRequests: sortKeys(fromServer('asked')),
		enums: sortKeys({...enums, ...Object.fromEntries(observed)}),
	};
}

/** A plain HTTP server for samples of HTTP requests. */
async function startOrigin() {
	const server = http.createServer((request, response) => {
		request.resume();
		response.end('body');
	});
	await new Promise(resolve => {
		server.listen(0, '127.0.0.1', resolve);
	});
	return {
		url: `http://127.0.0.1:${server.address().port}/`,
		stop() {
			server.closeAllConnections();
			server.close();
		},
	};
}
