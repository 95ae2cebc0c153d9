// Jobs in JetStream while everything is killed with SIGKILL: runners, the coordinator, brokers, and all of them at once.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {AckPolicy, jetstreamManager} from '@nats-io/jetstream';
import {openNatsLink} from '../dist/hub/nats/nats-link.js';
import {DEFAULT_RULES} from '../dist/jobs/index.js';
import {JetStreamJobs} from '../dist/jobs/nats/jet-stream-jobs.js';
import {startNatsCluster} from './lib/nats-cluster.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {Victim} from './lib/victim.mjs';

const NODE = fileURLToPath(new URL('jobs-nats/node.mjs', import.meta.url));
const BROKERS = 3;
const LOOK_MS = 500;
/** A broker that was killed starts again after so long; with everything killed, all start again after so long. */
const BROKER_MS = 3000;
/** Looks for a node that coordinates, which there is none of for a few seconds after another one was killed. */
const MAX_COORDINATOR_LOOKS = 100;
const COORDINATOR_LOOK_MS = 200;
const EVERYTHING_MS = 2000;
/** Without progress for so long the state of the brokers is printed. */
const TELL_MS = 30_000;
const TENANT = 'bench';
const {
	items,
	slots,
	nodes: nodeCount,
	workMs,
	kills,
	interval,
	seed,
	seconds: maxSeconds,
} = readOptions(
	'Jobs in JetStream while everything is killed with SIGKILL: runners, the coordinator, brokers, and all of them at once.',
	{
		items: {default: 100_000, help: 'items of the job'},
		slots: {default: 64, help: 'items at once, on all nodes together'},
		nodes: {default: 4, help: 'nodes that run items'},
		workMs: {default: 20, help: 'mean time of an item'},
		kills: {default: 12, help: 'kills, at equal steps of progress; the middle one is of everything'},
		interval: {default: 0, help: 'seconds from one kill to the next from the first result on; 0 for steps of progress'},
		seed: SEED,
		seconds: {default: 1400, help: 'time limit'},
	},
);
const random = new Random(seed);
const deadline = performance.now() + 1000 * maxSeconds;
const directory = mkdtempSync(join(tmpdir(), 'longarm-jobs-nats-'));
const silent = {debug() {}, info() {}, warn() {}, error() {}};
const victims = [];
const killed = {runner: 0, coordinator: 0, broker: 0, everything: 0};
/** Times at which everything was killed, in milliseconds since 1970: the pause after it is told apart. */
const stops = [];

try {
	const problems = await run();
	for (const problem of problems) console.log(`FAILED: ${problem}`);
	process.exitCode = problems.length > 0 ? 1 : 0;
} catch (error) {
	console.log(`FAILED: ${error.stack}`);
	process.exitCode = 1;
} finally {
	await Promise.all(victims.map(victim => victim.kill()));
	rmSync(directory, {recursive: true, force: true, maxRetries: 5});
	// The observer goes on for ever.
	setImmediate(() => process.exit());
}

async function run() {
	const brokers = await startNatsCluster(directory, BROKERS);
	victims.push(...brokers);
	const servers = brokers.map(({url}) => url);
	const observed = await observe(servers);
	const jobId = await observed.jobs.submit(TENANT, submission(), rows());
	const nodes = Array.from({length: nodeCount}, (_, index) => startNode(servers, index));
	victims.push(...nodes);
	const startedAt = performance.now();
	const when = interval > 0 ? `one every ${interval} s` : 'at equal steps of progress';
	console.log(
		`${items} items, ${slots} slots on ${nodeCount} nodes, ${BROKERS} brokers, ${kills} kills, ${when}, seed ${seed}`,
	);
	await killAndWait({brokers, nodes, observed, jobId});
	const seconds = (performance.now() - startedAt) / 1000;
	console.log(`rate: ${Math.round(items / seconds)} items/s in ${seconds.toFixed(1)} s, kills and stop included`);
	const problems = await check(observed, jobId);
	await observed.nats.close();
	return problems;
}

/** Kills something at equal steps of progress or of time, and settles when the job has ended. */
async function killAndWait({brokers, nodes, observed, jobId}) {
	const plan = planKills();
	let startedAt;
	let done = 0;
	let progress = {completed: -1, at: performance.now()};
	for (;;) {
		if (performance.now() > deadline) throw new Error('the job takes too long');
		const listed = await observed.jobs.find(TENANT, jobId);
		if (listed.status !== 'running' && listed.status !== 'pending') {
			console.log(`the job is ${listed.status}; killed: ${JSON.stringify(killed)}`);
			return;
		}
		for (const node of nodes) if (!node.isRunning) console.log(`${node.name} ended by itself`);
		for (const node of nodes) node.start();
		const completed = listed.completed_items;
		if (completed !== progress.completed) progress = {completed, at: performance.now()};
		if (performance.now() - progress.at > TELL_MS) {
			progress = {completed, at: performance.now()};
			await tellState(observed, jobId, listed);
		}
		if (completed > 0) startedAt ??= performance.now();
		const elapsed = startedAt === undefined ? 0 : (performance.now() - startedAt) / 1000;
		const reached = interval > 0 ? Math.floor(elapsed / interval) : Math.floor((completed / items) * (kills + 1));
		if (done < kills && reached > done) {
			await killOne(plan[done++], {brokers, nodes, observed, jobId});
			console.log(`${completed} completed; killed so far: ${JSON.stringify(killed)}`);
		}
		await new Promise(resolve => setTimeout(resolve, Math.min(LOOK_MS, interval > 0 ? 250 * interval : LOOK_MS)));
	}
}

/** As many of each kind, in an order that depends on the seed; the middle one is of everything. */
function planKills() {
	const plan = Array.from({length: kills}, (_, index) => ['coordinator', 'broker', 'runner'][index % 3]);
	for (let index = plan.length - 1; index > 0; index--) {
		const other = random.below(index + 1);
		[plan[index], plan[other]] = [plan[other], plan[index]];
	}
	if (kills > 0) plan[Math.ceil(kills / 2) - 1] = 'everything';
	return plan;
}

async function killOne(kind, {brokers, nodes, observed, jobId}) {
	if (kind === 'everything') return killEverything(brokers, nodes);
	if (kind === 'broker') {
		killed.broker++;
		const broker = random.pick(brokers);
		await broker.kill();
		setTimeout(() => broker.start(), BROKER_MS);
		return;
	}
	const holder = kind === 'coordinator' ? await findCoordinator(observed, jobId, nodes) : undefined;
	const node = nodes.find(each => each.pid === holder) ?? random.pick(nodes);
	killed[node.pid === holder ? 'coordinator' : 'runner']++;
	await node.kill();
	node.start();
}

/** What the brokers have, for a look at a job without progress. */
async function tellState({manager}, jobId, listed) {
	const {completed_items: completed, stalled_seconds: stalled} = listed;
	console.log(`${completed} completed, without progress for ${TELL_MS / 1000} s${stalled ? ', stalled' : ''}`);
	try {
		const consumer = await manager.consumers.info(`LA_JOBS_${TENANT}`, `job-${jobId}`);
		const {num_pending: pending, num_ack_pending: claimed, num_waiting: asked} = consumer;
		const {state: queue} = await manager.streams.info(`LA_JOBS_${TENANT}`);
		const {state: results} = await manager.streams.info(`LA_RESULTS_${TENANT}`);
		const counts = `queue: ${queue.messages} items; results: ${results.messages}, last ${results.last_seq}`;
		console.log(`${counts}; consumer: ${JSON.stringify({pending, claimed, asked})}`);
	} catch (error) {
		console.log(`the brokers do not tell: ${error.message}`);
	}
}

async function killEverything(brokers, nodes) {
	killed.everything++;
	stops.push(Date.now());
	await Promise.all([...brokers, ...nodes].map(each => each.kill()));
	await new Promise(resolve => setTimeout(resolve, EVERYTHING_MS));
	for (const each of [...brokers, ...nodes]) each.start();
}

/** Process id of the node that coordinates the job; undefined if there is none for a while. */
async function findCoordinator({manager}, jobId, nodes) {
	for (let looks = 0; looks < MAX_COORDINATOR_LOOKS; looks++) {
		try {
			const message = await manager.streams.getMessage('LA_JOB_LEASES', {last_by_subj: `la-lease.${TENANT}.${jobId}`});
			const holder = Number(message?.string().split(':').at(-1));
			if (nodes.some(({pid}) => pid === holder)) return holder;
		} catch {
			// The brokers choose a leader.
		}
		await new Promise(resolve => setTimeout(resolve, COORDINATOR_LOOK_MS));
	}
	return undefined;
}

/** Reads the streams with the client of NATS, independently of our own reader. */
async function check({jobs, manager}, jobId) {
	const problems = [];
	const times = [];
	const seen = new Map();
	const stream = `LA_RESULTS_${TENANT}`;
	const js = manager.jetstream();
	const {name} = await manager.consumers.add(stream, {
		ack_policy: AckPolicy.None,
		filter_subject: `la.${TENANT}.r.${jobId}.*`,
		inactive_threshold: 60_000_000_000,
	});
	const consumer = await js.consumers.get(stream, name);
	const {num_pending: messages} = await consumer.info();
	for (let read = 0; read < messages; ) {
		for await (const message of await consumer.fetch({max_messages: Math.min(5000, messages - read), expires: 5000})) {
			read++;
			times.push(Number(message.timestampNanos / 1_000_000n));
			const item = Number(message.subject.split('.').at(-1));
			const {row} = message.json().result;
			if (row !== item) problems.push(`item ${item} has the result of row ${row}`);
			seen.set(item, (seen.get(item) ?? 0) + 1);
		}
	}
	const twice = [...seen.values()].filter(count => count > 1).length;
	console.log(
		`results in the stream: ${messages}, of ${seen.size} items; ${twice} items have a second one, which does not count`,
	);
	if (seen.size !== items) problems.push(`${items - seen.size} items have no result`);
	tellPauses(times);
	let lines = 0;
	let attempts = 0;
	for await (const line of await jobs.readItems(TENANT, jobId, 'jsonl')) {
		const {row_index: row, status, result_json: result, attempt_count: count} = JSON.parse(line);
		if (row !== lines || status !== 'completed' || JSON.parse(result).row !== row)
			problems.push(`line ${lines}: ${line}`);
		lines++;
		attempts += count;
		if (problems.length > 20) break;
	}
	console.log(`output: ${lines} lines in row order, ${attempts - lines} attempts more than items`);
	if (lines !== items) problems.push(`the output has ${lines} lines`);
	const left = await countLeft(manager);
	if (left > 0) problems.push(`${left} items are left in the queue`);
	return problems;
}

/** Items in the queue when the last node has ended the job. */
async function countLeft(manager) {
	for (let look = 0; ; look++) {
		const {state} = await manager.streams.info(`LA_JOBS_${TENANT}`);
		if (state.messages === 0 || look * LOOK_MS > 20_000) return state.messages;
		await new Promise(resolve => setTimeout(resolve, LOOK_MS));
	}
}

function tellPauses(times) {
	times.sort((one, other) => one - other);
	let longest = 0;
	let afterStop = 0;
	for (let index = 1; index < times.length; index++) {
		const pause = times[index] - times[index - 1];
		const isStop = stops.some(at => at >= times[index - 1] - 1000 && at <= times[index]);
		if (isStop) afterStop = Math.max(afterStop, pause);
		else longest = Math.max(longest, pause);
	}
	console.log(
		`longest pause between results: ${(longest / 1000).toFixed(1)} s; around the stop of everything ${(afterStop / 1000).toFixed(1)} s`,
	);
}

/** A client that submits and looks, and runs nothing: its work is never opened. */
async function observe(servers) {
	const nats = await openNatsLink({servers, name: 'observer', logger: silent});
	const jobs = await openWhenReady({nats, openWork: neverOpen, directory, logger: silent});
	const manager = await jetstreamManager(nats.connection);
	return {jobs, manager, nats};
}

function neverOpen() {
	return new Promise(() => {});
}

/** A cluster that has just begun has no leader. */
async function openWhenReady(options) {
	for (;;) {
		try {
			return await JetStreamJobs.open(options);
		} catch (error) {
			if (performance.now() > deadline) throw error;
			await new Promise(resolve => setTimeout(resolve, LOOK_MS));
		}
	}
}

function submission() {
	return {
		inputName: 'bench.csv',
		inputFormat: 'csv',
		rules: {...DEFAULT_RULES, maxConcurrency: slots},
		work: {
			command: {kind: 'command', command: {argv: ['true']}, result: 'exit', stdin: 'none', logs: 'none'},
			owner: {token: 'bench', pattern: '*'},
		},
		executors: [{name: 'none', where: 'none', slots}],
	};
}

async function* rows() {
	yield Buffer.from('n\n');
	for (let from = 0; from < items; from += 1000) {
		const count = Math.min(1000, items - from);
		yield Buffer.from(Array.from({length: count}, (_, index) => `${from + index}\n`).join(''));
	}
}

function startNode(servers, index) {
	const argv = [NODE, servers.join(','), String(Math.ceil(slots / nodeCount)), String(workMs)];
	const stdio = ['ignore', 'ignore', process.env.VERBOSE ? 'inherit' : 'ignore'];
	return new Victim(`node-${index}`, () => spawn(process.execPath, argv, {stdio}));
}
