// Records one version of codex as a peer: its messages, enums, capabilities, flags and timers.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {Child, until} from '../child.mjs';
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
export function recordPeer(codexBin, {dist, log}) {
	return withServer(codexBin, async ({url, scratch, candidates}) => {
		const model = await new ModelServer().start();
		const rig = new Rig({codexBin, scratch, model});
		const shapes = new WireShapes();
		const parts = [
			['messages by probing', probeMessages(candidates, url, scratch, shapes)],
			['messages of the scenarios', recordScenarios(codexBin, scratch.folder('transcripts'), shapes)],
			['session lifetime', measureSessionLifetime(url)],
			['retention of closed processes', measureProcessRetention(url)],
			['ping interval', measurePingInterval(url)],
			['client on a WebSocket', measureWebSocketClient(rig, url)],
			['client behind a hub', measureHubClient(rig, dist)],
		];
		const [probed, , sessionLifetimeMs, closedProcessRetentionMs, pingIntervalMs, client, hubClient] = await finish(
			parts,
			log,
		);
		await model.stop();
		return {
			timers: {server: {sessionLifetimeMs, closedProcessRetentionMs, pingIntervalMs}, client, hubClient},
			...describePeer(codexBin, probed, shapes),
		};
	});
}

/** Records the parts of a peer that need no client and no time: capabilities, flags and messages of its server. */
export function probePeer(codexBin) {
	return withServer(codexBin, async ({url, scratch, candidates}) => {
		const shapes = new WireShapes();
		return describePeer(codexBin, await probeMessages(candidates, url, scratch, shapes), shapes);
	});
}

/** Starts a server of the program for a piece of work. */
async function withServer(codexBin, work) {
	// Before anything is measured: reading a program takes seconds, in which no event is noticed.
	const candidates = listCandidates(codexBin);
	const scratch = new Scratch();
	addConfiguration(scratch);
	const {child, url} = await startServer(`exec "${codexBin}" exec-server --listen ws://127.0.0.1:0`, scratch);
	try {
		return await work({url, scratch, candidates});
	} finally {
		await child.stop();
		scratch.remove();
	}
}

/** Waits for all parts, also if one of them fails: the others use the same server. */
async function finish(parts, log) {
	const began = performance.now();
	const outcomes = await Promise.allSettled(
		parts.map(async ([name, work]) => {
			const value = await work;
			log(`${name}: ${Math.round((performance.now() - began) / 1000)} s`);
			return value;
		}),
	);
	const failed = outcomes.findIndex(({status}) => status === 'rejected');
	if (failed >= 0)
		throw new Error(`${parts[failed][0]}: ${outcomes[failed].reason.message}`, {cause: outcomes[failed].reason});
	return outcomes.map(({value}) => value);
}

function describePeer(codexBin, probed, shapes) {
	return {
		capabilities: sortKeys(probed.capabilities),
		flags: readFlags(codexBin),
		...describeMessages(probed, shapes),
	};
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
	const file = path.join(folder, 'results.json');
	const args = [RUN, '--transcripts', folder, '--json', file, '--skip', OWN_SCENARIO];
	await new Child(process.execPath, args, {env: {...process.env, CODEX_BIN: codexBin}}).exited;
	const {results} = JSON.parse(fs.readFileSync(file, 'utf8'));
	// A scenario that fails or is skipped would leave members out of the record.
	const missing = results.filter(({name, status}) => status !== 'passed' && name !== OWN_SCENARIO);
	if (missing.length > 0) throw new Error(missing.map(({name, reason}) => `${name}: ${reason}`).join('; '));
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
