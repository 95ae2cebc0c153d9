// A crowd on one server, its end by SIGKILL, and a server without descriptors: what it costs and whether promises are kept.
//   node bench/scale.mjs [--only crowd|killed|descriptors] [--pipes 4000] [--terminals 1000] [--connections 1000] [--seed N]

import {connect, startParams} from './lib/client.mjs';
import {Mark} from './lib/mark.mjs';
import {timedWithCpu} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {usageOf} from './lib/proc.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND, startServer, warmUp} from './lib/server.mjs';
import {spread} from './lib/stats.mjs';
import {finish} from './lib/tables.mjs';
import {delay, inParallel, until} from './lib/waiting.mjs';
import {exhaustDescriptors} from './scale/descriptor-exhaustion.mjs';
import {fitToMachine} from './scale/machine-limits.mjs';

const IDLE_MS = 10_000;
/** Share of one processor that doing nothing may cost. */
const IDLE_SHARE = 0.1;
const STATUS_CALLS = 2000;
/** When memory, descriptors and children have to be back where they were. */
const BACK_MS = 15_000;
const BACK_MIB = 64;
/** How long the end of a whole crowd may take. */
const GONE_MS = 5000;
/** Requests on their way at once. */
const WIDTH = 64;
/** Far beyond the run, and never a number of seconds somebody else sleeps. */
const FOREVER = '31536007';

const options = readOptions('Many processes and connections at once, and too many for the descriptors there are.', {
	only: {default: 'all', choices: ['all', 'crowd', 'killed', 'descriptors'], help: 'one of the scenarios'},
	pipes: {default: 4000, help: 'idle processes on pipes'},
	terminals: {default: 1000, help: 'idle processes on terminals'},
	connections: {default: 1000, help: 'connections they belong to'},
	seed: SEED,
	command: COMMAND,
});
const {only, seed, command} = options;
const random = new Random(seed);
console.error(`seed ${seed}`);
const rows = [];
for (const [name, play] of Object.entries({crowd, killed, descriptors: () => exhaustDescriptors(command, random)})) {
	if (only === 'all' || only === name) for (const row of await play()) rows.push([name, ...row]);
}
finish([...rows, ['all', 'seed', seed, true]]);

async function crowd() {
	const {pipes, terminals, connections, bounds} = fitToMachine(options);
	for (const bound of bounds) console.error(`bounded: ${bound}`);
	const total = pipes + terminals;
	const server = await startServer({command, settings: ['--detached-session', '2s', '--retain-closed', '2s']});
	const {pid} = server;
	await warmUp(server);
	const before = usageOf(pid);

	const clients = [];
	const connecting = await cost(pid, () =>
		inParallel(connections, WIDTH, async () => clients.push(await connect(server.url))),
	);
	const connected = usageOf(pid);
	console.error(`${clients.length} connections`);

	const ended = counter(clients);
	const startErrors = [];
	const starting = await cost(pid, () =>
		inParallel(total, WIDTH, index => startOne(clients, index, index < terminals).catch(e => startErrors.push(e))),
	);
	const full = usageOf(pid);
	console.error(`${total - startErrors.length} processes, ms: ${starting}`);

	const idleShare = await cpuShareWhileIdle(pid);
	console.error(`idle for ${IDLE_MS} ms`);
	const latencies = await statusLatencies(clients);

	const ending = await cost(pid, () => terminateAll(clients, total, ended));
	console.error(`all ended, ms: ${ending}`);
	for (const {socket} of clients) socket.close();
	const after = await backToNormal(pid, before);
	const exitCode = await server.stop();
	return [
		['bounded by', bounds.join('; ') || 'nothing', bounds.length === 0],
		['connections opened', clients.length, clients.length === connections],
		['processes on pipes / on terminals', `${pipes} / ${terminals}`, true],
		['starts refused', `${startErrors.length} ${startErrors[0]?.message ?? ''}`, startErrors.length === 0],
		['ms (of processor) to connect / start / terminate all', `${connecting} / ${starting} / ${ending}`, true],
		['terminated and closed', ended.count, ended.count === total],
		['RSS before / with connections / with all, MiB', `${before.rss} / ${connected.rss} / ${full.rss}`, true],
		['KiB per connection', (((connected.rss - before.rss) * 1024) / connections).toFixed(1), true],
		['KiB per process', (((full.rss - connected.rss) * 1024) / total).toFixed(1), true],
		['descriptors before / with all', `${before.fds} / ${full.fds}`, true],
		['children with all', full.children, full.children === total],
		['processor while idle, % of one', (idleShare * 100).toFixed(2), idleShare < IDLE_SHARE],
		[
			`status over ${latencies.length} calls, p50 / p99 / most ms`,
			spread(latencies, 2),
			latencies.length === STATUS_CALLS,
		],
		[
			'descriptors / children afterwards',
			`${after.fds} / ${after.children}`,
			after.fds <= before.fds && after.children === 0,
		],
		['RSS afterwards, MiB', after.rss, after.rss < before.rss + BACK_MIB],
		['seconds until back', after.seconds, after.back],
		['exit code of the server', exitCode, exitCode === 0],
		['lines the server logged', server.log().length, server.log().length === 0],
	];
}

/** The same crowd, and the server is killed: whatever it started has to follow. */
async function killed() {
	const {pipes, terminals} = fitToMachine({...options, connections: 1});
	const mark = new Mark(process.pid, 9997);
	const server = await startServer({command, wrap: argv => mark.wrap(argv)});
	const client = await connect(server.url);
	await inParallel(pipes + terminals, WIDTH, index => startOne([client], index, index < terminals));
	const before = mark.living().length;
	server.kill('SIGKILL');
	const began = performance.now();
	const gone = await until(() => mark.living().length === 0, {withinMs: GONE_MS});
	const took = Math.round(performance.now() - began);
	const left = mark.living();
	for (const {pid} of left) process.kill(pid, 'SIGKILL');
	return [
		['processes when the server is killed', before, before >= pipes + terminals],
		[`processes left after ${GONE_MS} ms`, left.length, gone],
		['ms until the last one was gone, the watchdog included', took, gone],
	];
}

/** Every connection has its share of both kinds. */
function startOne(clients, index, tty) {
	const client = clients[index % clients.length];
	return client.call('process/start', startParams({id: `p${index}`, argv: ['sleep', FOREVER], tty}));
}

/** Counts the processes that closed, over all connections. */
function counter(clients) {
	const ended = {count: 0};
	for (const {socket} of clients) {
		socket.on('message', data => {
			if (data.includes('"process/closed"')) ended.count++;
		});
	}
	return ended;
}

async function cpuShareWhileIdle(pid) {
	await delay(1000);
	const {ms, cpuMs} = await timedWithCpu(pid, () => delay(IDLE_MS));
	return cpuMs / ms;
}

async function statusLatencies(clients) {
	const {times} = await inParallel(STATUS_CALLS, 1, () => random.pick(clients).call('environment/status', {}));
	return times;
}

async function terminateAll(clients, total, ended) {
	await inParallel(total, WIDTH, index => {
		return clients[index % clients.length].call('process/terminate', {processId: `p${index}`}).catch(() => {});
	});
	await until(() => ended.count >= total, {withinMs: 30_000, everyMs: 10});
}

async function backToNormal(pid, before) {
	const began = performance.now();
	const isBack = ({fds, children, rss}) => fds <= before.fds && children === 0 && rss < before.rss + BACK_MIB;
	const back = await until(() => isBack(usageOf(pid)), {withinMs: BACK_MS, everyMs: 250});
	const took = performance.now() - began;
	await delay(BACK_MS - took);
	return {...usageOf(pid), back, seconds: (took / 1000).toFixed(1)};
}

/** How long the work took, and how much of its processor time the server spent on it: `1200 (800)`. */
async function cost(pid, work) {
	const {ms, cpuMs} = await timedWithCpu(pid, work);
	return `${Math.round(ms)} (${cpuMs})`;
}
