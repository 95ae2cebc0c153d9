// Three NATS servers, three hub nodes behind a TCP balancer, executors and clients on all of them: any one node of either kind is
// killed, frozen or drained while processes echo known bytes.
//   node bench/hub-nodes.mjs [--faults 100] [--clients 3] [--processes 4] [--seed N] [--stock] [--minutes N]
// ends with a table, exit 1 on a broken promise
import {execFileSync} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {SessionClient} from '../dist/index.js';
import {connectThroughHub} from '../dist/transports/node/relay/connect-through-hub.js';
import {findStockCodex} from '../scripts/lib/stock-codex.mjs';
import {EchoTrial} from './lib/echo-trial.mjs';
import {areReady, createHubToken, startHubNodes} from './lib/hub-cluster.mjs';
import {toMib} from './lib/measure.mjs';
import {startNatsCluster} from './lib/nats-cluster.mjs';
import {OwnExecutor, StockExecutor} from './lib/node-executors.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {TcpBalancer} from './lib/tcp-balancer.mjs';
import {delay, until, within} from './lib/waiting.mjs';

const NODES = 3;
/** A promise that has not settled by then never will. */
const MAX_WAIT_MS = 90_000;
/** Clients try to resume for 45 s (before codex 0.169 for 25 s), so a node is away for less. */
const MAX_FREEZE_MS = 8000;

const {faults, clients, processes, seed, command, log, stock, minutes} = readOptions(
	'A hub of three nodes, one of which is always in trouble.',
	{
		faults: {default: 100, help: 'how often a node is killed, frozen or drained'},
		clients: {default: 3, help: 'clients, each with an executor of its own'},
		processes: {default: 4, help: 'processes of each client that echo at the same time'},
		seed: SEED,
		command: COMMAND,
		log: {default: 'error', help: 'least important entries of the nodes to show'},
		stock: {default: false, help: 'executors of the stock program, which is installed on demand'},
		minutes: {default: 60, help: 'end after so long, whatever the faults'},
	},
);
console.error(`seed ${seed}`);
const random = new Random(seed);
const codex = stock && findStockCodex();
const scratch = mkdtempSync(join(tmpdir(), 'longarm-hub-nodes-'));
// Keys of this trial, and not those of the user.
process.env.XDG_STATE_HOME = scratch;
const brokers = await startNatsCluster(scratch, NODES);
const hubs = await startHubNodes({command, scratch, brokers, count: NODES, log});
const balancer = new TcpBalancer(hubs.map(({url}) => url));
await within(
	MAX_WAIT_MS,
	'the hubs',
	until(() => areReady(hubs)),
);
const address = await balancer.listen();
const [executorToken, clientToken] = ['executor', 'client'].map(kind => createHubToken(command, hubs[0], kind));
const executors = await Promise.all(Array.from({length: clients}, (_, index) => startExecutor(`box-${index}`)));
const began = performance.now();

let connections = 0;
const trials = await Promise.all(
	Array.from({length: clients}, async (_, index) => {
		const target = {kind: 'registry', url: `registry+${address}/box-${index}`, token: clientToken, executorKey: 'any'};
		const client = await openClient(target);
		return {client, trial: new EchoTrial(client)};
	}),
);
const echoes = trials.flatMap(({trial}, index) =>
	Array.from({length: processes}, (_, count) => trial.echo(`p${index}-${count}`, random.fork())),
);
const done = {'hub killed': 0, 'hub frozen': 0, 'NATS killed': 0, 'NATS frozen': 0, 'hub drained': 0};
const pauses = [];
for (let count = 0; count < faults && performance.now() - began < minutes * 60_000; count++) {
	await within(MAX_WAIT_MS, 'progress of all clients', progressOfAll());
	await delay(random.size(50, 1000));
	const pause = await breakSomething();
	pauses.push(pause);
	console.error(
		`${count + 1}/${faults}: ${pause.kind} ${pause.name}, all go on after ${pause.ms} ms, ${toMib(sum('read'))} MiB read`,
	);
}
await within(MAX_WAIT_MS, 'progress of all clients', progressOfAll());
for (const {trial} of trials) trial.end();
const outcomes = await Promise.allSettled(echoes.map(each => within(MAX_WAIT_MS, 'the end of an echo', each)));
for (const {client} of trials) client.close();
for (const {client} of trials) await within(MAX_WAIT_MS, 'the end of a client', client.ended);
const ends = executors.map(({end}) => end).filter(end => end !== undefined);
for (const executor of executors) executor.stop();
balancer.close();
for (const victim of [...hubs, ...brokers]) await victim.kill();
rmSync(scratch, {recursive: true, force: true});
const hanging = outcomes.filter(({status}) => status === 'rejected');
for (const {reason} of hanging) console.error(reason);
const unaccounted = trials.reduce((total, {trial}) => total + trial.unaccounted, 0);
const losses = executors.reduce((total, executor) => total + executor.losses, 0);
const times = pauses.map(({ms}) => ms).sort((one, other) => one - other);
const row = rowsOf(stock ? 'hub-nodes, stock executors' : 'hub-nodes');
finish([
	row('seconds (seed)', `${((performance.now() - began) / 1000).toFixed(0)} (${seed})`),
	row(Object.keys(done).join(' / '), Object.values(done).join(' / ')),
	...(stock ? [row('losses of the node of an executor', losses)] : []),
	row('connections made', connections),
	row('MiB written / read back', `${toMib(sum('written'), 1)} / ${toMib(sum('read'), 1)}`),
	row(
		'seconds until all go on, median / longest',
		`${(times[times.length >> 1] / 1000).toFixed(1)} / ${(times.at(-1) / 1000).toFixed(1)}`,
	),
	row('bytes announced as gone, in gaps', `${sum('missed')} in ${sum('gaps')}`),
	row('bytes neither read nor announced', unaccounted, unaccounted === 0),
	row('chunks with a wrong byte', sum('wrong'), sum('wrong') === 0),
	row('processes lost', sum('failed'), sum('failed') === 0),
	row('promises left hanging or broken', hanging.length, hanging.length === 0),
	row('executors that have ended', ends.join(', ') || 0, ends.length === 0),
]);

function sum(name) {
	return trials.reduce((total, {trial}) => total + trial.totals[name], 0);
}

/** One node is killed and started again, or frozen for some seconds; settles when all clients go on. */
async function breakSomething() {
	const {kind, isHub, victim} = pickFault();
	const isFreeze = kind.endsWith('frozen');
	done[kind]++;
	if (isHub) for (const executor of executors) executor.lose(victim);
	const start = performance.now();
	if (isFreeze) victim.freeze();
	else if (kind === 'hub drained') await drain(victim);
	else await victim.kill();
	const back = delay(isFreeze ? random.size(500, MAX_FREEZE_MS) : random.size(200, 2000)).then(() =>
		isFreeze ? victim.thaw() : victim.start(),
	);
	await within(MAX_WAIT_MS, `progress of all clients after ${kind}`, progressOfAll());
	const ms = Math.round(performance.now() - start);
	await back;
	// A second node must not be lost before the first is back: that is another promise.
	if (isHub)
		await within(
			MAX_WAIT_MS,
			'the node',
			until(() => areReady([victim])),
		);
	else await delay(isFreeze ? 1000 : 3000);
	return {kind, name: victim.name, ms};
}

/** A hub node only if its executors come back in time. */
function pickFault() {
	for (;;) {
		const kind = random.pick(Object.keys(done));
		const isHub = kind.startsWith('hub');
		const victim = random.pick(isHub ? hubs : brokers);
		if (!isHub || executors.every(executor => executor.mayLose(victim))) return {kind, isHub, victim};
	}
}

async function drain({child, data}) {
	const ended = once(child, 'exit');
	execFileSync(process.execPath, [command, 'hub', 'drain', '--timeout', '1s', '--data', data]);
	await ended;
}

/** Every client has read more than it had. */
async function progressOfAll() {
	const before = trials.map(({trial}) => trial.totals.read);
	await until(() => trials.every(({trial}, index) => trial.totals.read > before[index] + 200_000), {everyMs: 10});
}

async function startExecutor(id) {
	const place = {id, token: executorToken, scratch};
	if (!codex) return new OwnExecutor({...place, url: address, command, log});
	const own = new TcpBalancer(hubs.map(({url}) => url));
	return new StockExecutor({...place, url: await own.listen(), balancer: own, codex});
}

/** The executor may need a moment until it is online. */
async function openClient(target) {
	for (const deadline = performance.now() + MAX_WAIT_MS; ; ) {
		try {
			return await SessionClient.open(async signal => {
				const transport = await connectThroughHub(target, signal);
				connections++;
				return transport;
			});
		} catch (error) {
			if (performance.now() > deadline) throw error;
			await delay(200);
		}
	}
}
