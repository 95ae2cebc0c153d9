// Cost of a hub: handshakes, round trips and throughput beside a direct socket in one interleaved run, memory of idle
// executors and streams, and many executors on one hub.
//   npm run build && node bench/hub.mjs [--executors 1000] [--rounds 5]
import {spawn} from 'node:child_process';
import {randomUUID} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {HubTokens} from '../dist/hub/store/hub-tokens.js';
import {Environment} from '../dist/index.js';
import {encodeRelayFrame} from '../dist/protocol/relay/relay-frame.js';
import {encodePrologue} from '../dist/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../dist/shared/node/node-noise-crypto.js';
import {createNoiseKeys, NoiseInitiator, NoiseResponder, publicKeysOf} from '../dist/shared/noise/hybrid-ik.js';
import {connectHarness, harnessKey} from '../dist/transports/node/relay/connect-harness.js';
import {ExecutorLink} from '../dist/transports/node/relay/executor-link.js';
import {ExecutorStreams} from '../dist/transports/node/relay/executor-streams.js';
import {RegistryClient} from '../dist/transports/node/relay/registry-client.js';
import {MIB, timed} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {cpuSecondsOf, rssOf} from './lib/proc.mjs';
import {delay} from './lib/waiting.mjs';

const PROGRAM = fileURLToPath(new URL('../dist/bin/longarm.js', import.meta.url));
const HANDSHAKES = 100;
const ROUND_TRIPS = 300;
const STREAM_MIB = 64;
const IDLE_STREAMS = 100;
const SILENT = {message() {}, unreadable() {}, drained() {}, closed() {}};

const {executors, rounds} = readOptions('Cost of a hub, beside a direct socket.', {
	executors: {default: 1000, help: 'executors on one hub'},
	rounds: {default: 5, help: 'rounds of trips and streams each way'},
});
const data = mkdtempSync(join(tmpdir(), 'longarm-hub-'));
const children = [];
try {
	measureHandshakes();
	await measureLoopDelay();
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

/** How long an executor does nothing else while clients come all at once, in one piece of what its socket reads. */
async function measureLoopDelay() {
	const [keys, self] = [createNoiseKeys(nodeNoiseCrypto), createNoiseKeys(nodeNoiseCrypto)];
	const identity = {environmentId: 'bench', registrationId: 'bench'};
	const frames = Array.from({length: HANDSHAKES}, () => {
		const streamId = randomUUID();
		const prologue = encodePrologue({...identity, streamId});
		const initiator = {self, responder: publicKeysOf(keys), prologue, payload: new Uint8Array(43)};
		const {message: payload} = new NoiseInitiator(nodeNoiseCrypto, initiator);
		return encodeRelayFrame({streamId, body: {kind: 'handshake', payload}});
	});
	const socket = {peer: 'bench', backlog: 0, send() {}, beforeFlush: flush => flush(), isAnswering: async () => true};
	const accepted = [];
	const logger = {info() {}, warn() {}};
	const streams = new ExecutorStreams(socket, {
		...identity,
		keys,
		admit: () => delay(5, true),
		accept: each => accepted.push(each),
		logger,
	});
	let [longest, turns, last] = [0, 0, performance.now()];
	const began = last;
	setTimeout(() => frames.forEach(frame => streams.receive(frame)), 5);
	while (accepted.length < HANDSHAKES && last - began < 30_000) {
		await delay(1);
		const now = performance.now();
		[longest, turns, last] = [Math.max(longest, now - last), turns + 1, now];
	}
	const all = `${accepted.length} let in within ${(last - began).toFixed(0)} ms, ${turns} turns of a 1 ms timer`;
	console.log(`${HANDSHAKES} handshakes at once: longest pause of the event loop ${longest.toFixed(0)} ms; ${all}`);
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
	const results = Object.fromEntries(Object.keys(ways).map(name => [name, {rtt: [], mibs: [], cpu: []}]));
	const spent = () => {
		const {user, system} = process.cpuUsage();
		return {client: (user + system) / 1e6, hub: cpuSecondsOf(hub.pid), server: cpuSecondsOf(server.pid)};
	};
	for (const way of Object.values(ways)) await way.shell('true');
	for (let round = 0; round < rounds; round++) {
		for (const [name, way] of Object.entries(ways)) {
			results[name].rtt.push(...(await roundTrips(way)));
			const before = spent();
			results[name].mibs.push(await throughput(way));
			const after = spent();
			results[name].cpu.push(Object.keys(after).map(each => ((after[each] - before[each]) * 1000) / STREAM_MIB));
		}
	}
	for (const [name, {rtt, mibs, cpu}] of Object.entries(results)) {
		const each = [0, 1, 2].map(index => median(cpu.map(parts => parts[index])).toFixed(1)).join(' / ');
		const speed = `round trip p50 ${median(rtt).toFixed(2)} ms, ${median(mibs).toFixed(0)} MiB/s`;
		console.log(`${name}: ${speed}, ms of client / hub / executor per MiB ${each}`);
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
	const count = executors;
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
