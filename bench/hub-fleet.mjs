// A fleet behind a hub of three nodes on three NATS servers: simulated executors join, are listed, looked up by name, pool and
// label, and killed.
//   node bench/hub-fleet.mjs [--counts 100,1000,10000] [--picture bench/hub-fleet.svg]
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {Agent, request} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {WebSocket} from 'ws';
import {encodeRelayKey} from '../dist/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../dist/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../dist/shared/noise/hybrid-ik.js';
import {drawCurves} from './lib/curves-svg.mjs';
import {areReady, createHubToken, startHubNodes} from './lib/hub-cluster.mjs';
import {startNatsCluster} from './lib/nats-cluster.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {cpuSecondsOf, rssOf} from './lib/proc.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND} from './lib/server.mjs';
import {percentile} from './lib/stats.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, inParallel, until, within} from './lib/waiting.mjs';

const NODES = 3;
/** Requests on their way at once. */
const WIDTH = 32;
const LOOKUPS = 200;
const IDLE_MS = 10_000;
const MAX_WAIT_MS = 120_000;
/** A killed executor has to be known as gone by then. */
const MAX_PRESENCE_MS = 2000;
/** Each may make a bounded number of requests. */
const TOKENS = 20;
/** How long a connection is kept without a request, less than the hub keeps it; and attempts of a request. */
const KEPT_MS = 3000;
const MAX_ATTEMPTS = WIDTH * 2;
/** Each pool has a tenth of the fleet, and so has each label; one executor has slots for all lookups. */
const POOLS = 10;
const ZONES = 10;
const SLOTS = LOOKUPS * 2;

const {counts, picture, seed, command} = readOptions('What a fleet costs a hub of three nodes.', {
	counts: {default: '100,1000,10000', help: 'numbers of executors'},
	picture: {default: 'bench/hub-fleet.svg', help: 'where the curves are drawn'},
	seed: SEED,
	command: COMMAND,
});
const random = new Random(seed);
const scratch = mkdtempSync(join(tmpdir(), 'longarm-hub-fleet-'));
const agent = new Agent({keepAlive: true, maxSockets: WIDTH * 2, timeout: KEPT_MS});
const KEY = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
const brokers = await startNatsCluster(scratch, NODES);
const hubs = await startHubNodes({command, scratch, brokers, count: NODES});
await within(
	MAX_WAIT_MS,
	'the hubs',
	until(() => areReady(hubs)),
);
const executorTokens = Array.from({length: TOKENS}, () => createHubToken(command, hubs[0], 'executor'));
const clientTokens = Array.from({length: TOKENS}, () => createHubToken(command, hubs[0], 'client'));
const fleet = [];
const empty = memory();
const points = [];
for (const count of String(counts).split(',').map(Number)) {
	points.push(await measure(count));
	console.error(describe(points.at(-1)));
}
const {gone: goneAfterMs, killed} = await killSome();
const nodeGoneMs = await killNode();
writeFileSync(picture, drawCurves(panels()));
for (const {socket} of fleet) socket.terminate();
for (const victim of [...hubs, ...brokers]) await victim.kill();
rmSync(scratch, {recursive: true, force: true});
const row = rowsOf('hub-fleet');
finish([
	...points.map(point => row(`${point.count}`, describe(point))),
	row(`${killed} executors killed: ms until the last is known as gone`, goneAfterMs, goneAfterMs <= MAX_PRESENCE_MS),
	row('a node killed: ms until its executors are known as gone', nodeGoneMs, nodeGoneMs <= MAX_PRESENCE_MS),
	row('drawn', picture),
]);

async function measure(count) {
	const cpuBefore = cpu();
	const {ms: joinMs} = await inParallel(count - fleet.length, WIDTH, () => joinFleet(fleet.length));
	const cpuOfJoining = cpu();
	await within(
		MAX_WAIT_MS,
		'all in the list of a node',
		until(async () => (await list(hubs[1])).online === count),
	);
	const added = count - (points.at(-1)?.count ?? 0);
	await delay(3000);
	const idleBefore = cpu();
	await delay(IDLE_MS);
	const idle = cpu();
	const share = kind => (idle[kind] - idleBefore[kind]) / (IDLE_MS / 1000);
	const byName = await lookups(() => random.pick(fleet).id);
	const byPool = await lookups(() => `pool:pool-${random.below(POOLS)}`);
	const byLabel = await lookups(() => `@zone=${random.below(ZONES)}`);
	const lists = [];
	for (let round = 0; round < 5; round++) lists.push((await list(random.pick(hubs))).ms);
	const now = memory();
	return {
		count,
		joinPerS: added / (joinMs / 1000),
		joinCpuMs: ((cpuOfJoining.hubs - cpuBefore.hubs + cpuOfJoining.brokers - cpuBefore.brokers) * 1000) / added,
		lookup: {name: byName, pool: byPool, label: byLabel},
		listMs: percentile(lists, 50),
		hubMib: now.hubs - empty.hubs,
		brokerMib: now.brokers - empty.brokers,
		idleHub: share('hubs') * 100,
		idleBroker: share('brokers') * 100,
	};
}

/** Milliseconds of requests for environments, one after the other. */
async function lookups(pick) {
	const {times} = await inParallel(LOOKUPS, 1, async () => {
		const [id, hub] = [pick(), random.pick(hubs)];
		const status = await connect(id, hub);
		if (status !== 200) throw new Error(`${id}: ${status} from ${hub.name}`);
	});
	return {p50: percentile(times, 50), p99: percentile(times, 99)};
}

function describe(point) {
	return [
		`joined ${point.joinPerS.toFixed(0)}/s, ${point.joinCpuMs.toFixed(2)} ms of processor each`,
		...Object.entries(point.lookup).map(([by, {p50, p99}]) => `by ${by} ${p50.toFixed(1)} ms (p99 ${p99.toFixed(1)})`),
		`list ${point.listMs.toFixed(0)} ms`,
		`memory of 3 hubs +${point.hubMib} MiB, of 3 servers +${point.brokerMib} MiB`,
		`idle ${point.idleHub.toFixed(1)} % + ${point.idleBroker.toFixed(1)} % of a processor`,
	].join('; ');
}

function curve(title, unit, value) {
	return {title: `${title} (${unit})`, across: 'executors', points: points.map(point => [point.count, value(point)])};
}

function panels() {
	return [
		curve('one more joins', 'ms of processor', point => point.joinCpuMs),
		curve('lookup by name', 'ms', point => point.lookup.name.p50),
		curve('lookup by pool', 'ms', point => point.lookup.pool.p50),
		curve('lookup by label', 'ms', point => point.lookup.label.p50),
		curve('list of all', 'ms', point => point.listMs),
		curve('memory of three hubs', 'MiB more', point => point.hubMib),
		curve('memory of three servers', 'MiB more', point => point.brokerMib),
		curve('three hubs idle', '% of one processor', point => point.idleHub),
		curve('three servers idle', '% of one processor', point => point.idleBroker),
	];
}

/** A quarter of the fleet at once; a sample of them is asked for until all are known as gone. */
async function killSome() {
	const dead = fleet.splice(0, fleet.length >> 2);
	const sample = Array.from({length: 50}, () => random.pick(dead));
	const began = performance.now();
	for (const {socket} of dead) socket.terminate();
	await untilGone(sample, hubs);
	return {gone: Math.round(performance.now() - began), killed: dead.length};
}

async function killNode() {
	const victims = fleet.filter(({hub}) => hub === hubs[2]);
	const sample = Array.from({length: 50}, () => random.pick(victims));
	const began = performance.now();
	await hubs[2].kill();
	await untilGone(sample, hubs.slice(0, 2));
	return Math.round(performance.now() - began);
}

async function untilGone(sample, nodes) {
	for (const {id} of sample) {
		await within(
			MAX_WAIT_MS,
			`the end of ${id}`,
			until(async () => (await connect(id, random.pick(nodes))) === 409, {everyMs: 20}),
		);
	}
}

async function joinFleet(index) {
	const hub = hubs[index % NODES];
	const id = `box-${index}`;
	const entry = {id, hub, socket: undefined};
	fleet.push(entry);
	const {status, body} = await post(hub, `/cloud/environment/${id}/register`, executorTokens[index % TOKENS], {
		security_profile: 'noise_hybrid_ik_v1',
		executor_public_key: KEY,
		longarm: offerOf(index),
	});
	if (status !== 200) throw new Error(`register: ${status} ${JSON.stringify(body)}`);
	entry.socket = await openSocket(body.url);
}

function offerOf(index) {
	const zone = String(Math.floor(index / POOLS) % ZONES);
	return {labels: {os: 'linux', arch: 'x64', zone}, pools: [`pool-${index % POOLS}`], slots: SLOTS};
}

/** A socket that is refused for now is tried again, as executors do. */
async function openSocket(url) {
	for (let attempt = 1; ; attempt++) {
		const socket = new WebSocket(url, {perMessageDeflate: false});
		try {
			await once(socket, 'open');
			socket.on('error', () => {});
			return socket;
		} catch (error) {
			if (attempt === MAX_ATTEMPTS) throw error;
			await delay(500);
		}
	}
}

/** Status of a client's request for one environment. */
async function connect(id, hub) {
	const token = random.pick(clientTokens);
	return (await post(hub, `/cloud/environment/${encodeURIComponent(id)}/connect`, token, {harness_public_key: KEY}))
		.status;
}

async function list(hub) {
	const began = performance.now();
	const {body} = await call(hub, 'GET', '/environments', random.pick(clientTokens));
	return {online: body.environments.filter(({isOnline}) => isOnline).length, ms: performance.now() - began};
}

function post(hub, path, token, body) {
	return call(hub, 'POST', path, token, body);
}

/** A connection that was kept may have been closed by its server at the same moment: then another one is tried. */
async function call(...parameters) {
	for (let attempt = 1; ; attempt++) {
		try {
			return await ask(...parameters);
		} catch (error) {
			if (error.code !== 'ECONNRESET' || attempt === MAX_ATTEMPTS) throw error;
		}
	}
}

function ask(hub, method, path, token, body) {
	return new Promise((resolve, reject) => {
		const headers = {authorization: `Bearer ${token}`, 'content-type': 'application/json'};
		const pending = request(`${hub.url}${path}`, {method, agent, headers}, response => {
			const chunks = [];
			response.on('data', chunk => chunks.push(chunk));
			response.on('error', reject);
			response.on('end', () => {
				resolve({status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString())});
			});
		});
		pending.on('error', reject);
		pending.end(body && JSON.stringify(body));
	});
}

/** Seconds of processor so far. */
function cpu() {
	return totals(cpuSecondsOf);
}

/** Resident MiB. */
function memory() {
	return totals(rssOf);
}

function totals(measureOf) {
	const total = victims => victims.reduce((sum, {pid}) => sum + measureOf(pid), 0);
	return {hubs: total(hubs), brokers: total(brokers)};
}
