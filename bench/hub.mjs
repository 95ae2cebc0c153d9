// Cost of a hub: handshakes, round trips and throughput beside a direct socket in one interleaved run, memory of idle
// executors and streams, and many executors on one hub.
//   npm run build && node bench/hub.mjs [--executors 1000] [--rounds 5]
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {HubTokens} from '../dist/hub/store/hub-tokens.js';
import {Environment} from '../dist/index.js';
import {nodeNoiseCrypto} from '../dist/shared/node/node-noise-crypto.js';
import {createNoiseKeys, NoiseInitiator, NoiseResponder, publicKeysOf} from '../dist/shared/noise/hybrid-ik.js';
import {connectHarness, harnessKey} from '../dist/transports/node/relay/connect-harness.js';
import {ExecutorLink} from '../dist/transports/node/relay/executor-link.js';
import {RegistryClient} from '../dist/transports/node/relay/registry-client.js';
import {MIB, timed} from './lib/measure.mjs';
import {cpuSecondsOf, rssOf} from './lib/proc.mjs';

const PROGRAM = fileURLToPath(new URL('../dist/bin/longarm.js', import.meta.url));
const HANDSHAKES = 100;
const ROUND_TRIPS = 300;
const STREAM_MIB = 64;
const IDLE_STREAMS = 100;
const SILENT = {message() {}, unreadable() {}, drained() {}, closed() {}};

const {values} = parseArgs({
	options: {executors: {type: 'string', default: '1000'}, rounds: {type: 'string', default: '5'}},
});
const data = mkdtempSync(join(tmpdir(), 'longarm-hub-'));
const children = [];
try {
	measureHandshakes();
	const hub = await start(['hub', '--listen', 'http://127.0.0.1:0', '--data', data, '--log-level', 'error']);
	const tokens = new HubTokens(data);
	const executorToken = tokens.create('executor', '*').token;
	const clientToken = tokens.create('client', '*').token;
	await compareWithDirect(hub, {executorToken, clientToken});
	await measureMany(hub, {executorToken, clientToken});
} finally {
	for (const child of children) child.kill('SIGKILL');
	rmSync(data, {recursive: true, force: true});
}
process.exit(0);

/** Starts the built command; settles with its address. */
async function start(args, env = {}) {
	const child = spawn(process.execPath, [PROGRAM, ...args], {
		env: {...process.env, ...env},
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	children.push(child);
	const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
	return {url: line.trim(), pid: child.pid};
}

function measureHandshakes() {
	const [self, responder] = [createNoiseKeys(nodeNoiseCrypto), createNoiseKeys(nodeNoiseCrypto)];
	const prologue = new Uint8Array(8);
	const cost = {initiator: 0, responder: 0};
	const spend = (name, work) => {
		const before = process.cpuUsage();
		const result = work();
		const {user, system} = process.cpuUsage(before);
		cost[name] += (user + system) / 1000;
		return result;
	};
	for (let done = 0; done < HANDSHAKES; done++) {
		const options = {self, responder: publicKeysOf(responder), prologue, payload: new Uint8Array(43)};
		const initiator = spend('initiator', () => new NoiseInitiator(nodeNoiseCrypto, options));
		const {message} = initiator;
		const answer = spend('responder', () =>
			new NoiseResponder(nodeNoiseCrypto, {self: responder, prologue, message}).answer(),
		);
		spend('initiator', () => initiator.finish(answer.message));
	}
	for (const [name, ms] of Object.entries(cost)) {
		const each = ms / HANDSHAKES;
		console.log(`handshake, ${name}: ${each.toFixed(2)} ms of processor time, ${Math.round(1000 / each)}/s per core`);
	}
}

async function compareWithDirect(hub, {executorToken, clientToken}) {
	const tokenFile = join(data, 'bench.token');
	writeFileSync(tokenFile, executorToken, {mode: 0o600});
	const remote = ['--remote', hub.url, '--environment-id', 'bench', '--token-file', tokenFile];
	const server = await start(['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error', ...remote], {
		XDG_STATE_HOME: join(data, 'state'),
	});
	const url = `registry+${hub.url}/bench`;
	const ways = {
		direct: Environment.remote('direct', {kind: 'websocket', url: server.url}),
		hub: Environment.remote('hub', {kind: 'registry', url, token: clientToken, executorKey: 'any'}),
	};
	await untilOnline(hub, clientToken, 1);
	const results = Object.fromEntries(Object.keys(ways).map(name => [name, {rtt: [], mibs: [], hubCpu: []}]));
	for (const way of Object.values(ways)) await way.shell('true');
	for (let round = 0; round < Number(values.rounds); round++) {
		for (const [name, way] of Object.entries(ways)) {
			results[name].rtt.push(...(await roundTrips(way)));
			const cpu = cpuSecondsOf(hub.pid);
			results[name].mibs.push(await throughput(way));
			results[name].hubCpu.push((cpuSecondsOf(hub.pid) - cpu) * 1000);
		}
	}
	for (const [name, {rtt, mibs, hubCpu}] of Object.entries(results)) {
		const cpu = name === 'hub' ? `, ${(median(hubCpu) / STREAM_MIB).toFixed(1)} ms of the hub per MiB` : '';
		console.log(`${name}: round trip p50 ${median(rtt).toFixed(2)} ms, ${median(mibs).toFixed(0)} MiB/s${cpu}`);
	}
	for (const way of Object.values(ways)) await way.close();
}

async function roundTrips(environment) {
	const times = [];
	for (let done = 0; done < ROUND_TRIPS; done++) {
		times.push((await timed(() => environment.files.metadata('/'))).ms);
	}
	return times;
}

/** MiB/s of a stream that the reader holds back, so that every byte is delivered. */
async function throughput(environment) {
	const bytes = STREAM_MIB * MIB;
	const {result, ms} = await timed(async () => {
		const process = await environment.start(['head', '-c', String(bytes), '/dev/zero'], {backpressure: true});
		let received = 0;
		for await (const piece of process.output()) received += piece.kind === 'output' ? piece.bytes.length : 0;
		return received;
	});
	if (result !== bytes) throw new Error(`${result} of ${bytes} bytes arrived`);
	return STREAM_MIB / (ms / 1000);
}

/** Executors in this process, on one hub; then idle streams to one of them. */
async function measureMany(hub, {executorToken, clientToken}) {
	const count = Number(values.executors);
	const keys = createNoiseKeys(nodeNoiseCrypto);
	const before = rssOf(hub.pid);
	const logger = {debug() {}, info() {}, warn() {}, error() {}, with: () => logger};
	const links = Array.from({length: count}, (_, index) => {
		const registry = new RegistryClient({url: hub.url, environmentId: `idle-${index}`, token: () => executorToken});
		return new ExecutorLink({registry, keys, logger, accept: transport => transport.open(SILENT)});
	});
	const {ms} = await timed(async () => {
		for (const link of links) void link.run();
		await untilOnline(hub, clientToken, count + 1);
	});
	const online = rssOf(hub.pid);
	const perExecutor = (((online - before) * MIB) / count / 1024).toFixed(1);
	console.log(`${count} executors online in ${(ms / 1000).toFixed(1)} s, hub ${online} MiB, ${perExecutor} KiB each`);
	const registry = new RegistryClient({url: hub.url, environmentId: 'idle-0', token: () => clientToken});
	const streams = [];
	for (let opened = 0; opened < IDLE_STREAMS; opened++) {
		const bundle = await registry.connect(harnessKey(keys));
		const transport = await connectHarness({environmentId: 'idle-0', keys, bundle});
		transport.open(SILENT);
		streams.push(transport);
	}
	const perStream = (((rssOf(hub.pid) - online) * MIB) / IDLE_STREAMS / 1024).toFixed(1);
	console.log(`${IDLE_STREAMS} idle streams: ${perStream} KiB of the hub each`);
	const idle = cpuSecondsOf(hub.pid);
	await new Promise(resolve => setTimeout(resolve, 5000));
	console.log(`idle: ${((cpuSecondsOf(hub.pid) - idle) * 200).toFixed(1)} ms of processor time per second`);
	for (const each of [...streams, ...links]) each.close();
}

async function untilOnline({url}, token, count) {
	for (;;) {
		const response = await fetch(`${url}/environments`, {headers: {authorization: `Bearer ${token}`}});
		const {environments} = await response.json();
		if (environments.filter(({isOnline}) => isOnline).length >= count) return;
		await new Promise(resolve => setTimeout(resolve, 50));
	}
}

function median(numbers) {
	return numbers.toSorted((one, other) => one - other)[numbers.length >> 1];
}
