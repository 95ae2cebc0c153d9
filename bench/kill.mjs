// Nothing outlives a server that is killed: random loads, SIGKILL at a random moment, and a look at what is left.
//   node bench/kill.mjs [--rounds 200] [--seed N] [--modes 'root; nobody']      ends with a table, exit 1 on a broken promise
import {connect, startParams} from './lib/client.mjs';
import {MODE_NAMES, openMode} from './lib/kill-modes.mjs';
import {Mark} from './lib/mark.mjs';
import {failUsage, readOptions, SEED} from './lib/options.mjs';
import {signalProcess, WATCHDOG} from './lib/proc.mjs';
import {Random, weightedList} from './lib/random.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {spread} from './lib/stats.mjs';
import {finish} from './lib/tables.mjs';
import {delay, inParallel} from './lib/waiting.mjs';
import {WORKLOADS} from './lib/workloads.mjs';

/** When the last process has to be gone. */
const GONE_MS = 5000;
/** When the watchdog has to be gone, too: it looks on for two seconds, and longer on a busy machine. */
const WATCHDOG_GONE_MS = 20_000;
/** The second look comes this long after the first. */
const AGAIN_MS = 1000;
const LOOK_EVERY_MS = 50;
const MAX_STARTS = 40;
/** Starts of the programs that a mode adds, in a round. */
const ADDED_STARTS = 3;
const WARM_SHARE = 0.75;
const SHOWN = 20;
const WEIGHTED_KINDS = weightedList(Object.entries(WORKLOADS).map(([kind, {weight}]) => [weight, kind]));

const {rounds, seed, modes, atOnce, command} = readOptions(
	'Kills servers under load and looks for what they leave behind.',
	{
		rounds: {default: 200, help: 'servers to kill, the modes in turn'},
		seed: SEED,
		modes: {
			default: process.getuid() === 0 ? 'all' : 'root',
			help: `circumstances, separated by semicolons: ${MODE_NAMES.map(name => `\`${name}\``).join('; ')}`,
		},
		atOnce: {default: 4, help: 'servers at a time'},
		command: COMMAND,
	},
);
const played = modes === 'all' ? MODE_NAMES : modes.split(';').map(name => name.trim());
const unknown = played.find(name => !MODE_NAMES.includes(name));
if (unknown !== undefined) failUsage(`--modes: there is no \`${unknown}\``);
console.error(`seed ${seed}`);
const results = [];
await inParallel(rounds, atOnce, async round => {
	results.push(await playRound(round, played[round % played.length]));
	if (results.length % 20 === 0) console.error(`${results.length} of ${rounds} rounds`);
});
finish(played.flatMap(figures));

async function playRound(round, name) {
	const random = new Random(seed * 10_007 + round);
	const mark = new Mark(process.pid, round);
	const mode = openMode(name, round);
	try {
		const server = await startServer({command, wrap: argv => mark.wrap(mode.wrap(argv)), logLevel: 'error'});
		const clients = await Promise.all(Array.from({length: random.integer(1, 2)}, () => connect(server.url)));
		// Most servers have loaded their native parts when the load begins, the others do so with the first start.
		if (random.chance(WARM_SHARE)) await clients[0].call('process/start', startParams({id: 'warm-up', argv: ['true']}));
		await mode.prepare(server);
		const load = beginLoad(clients, mark, random, mode.added);
		await delay(mode.minLoadMs + random.next() * mode.loadMs);
		server.kill('SIGKILL');
		const killedAt = performance.now();
		load.over = true;
		await server.exited;
		return {round, name, asked: load.asked, started: load.started, ...(await watchThemGo(mark, mode, killedAt))};
	} finally {
		mode.close();
	}
}

/** Starts processes over the connections, in bursts and one by one, until it is told that it is over. */
function beginLoad(clients, mark, random, added) {
	const load = {over: false, asked: 0, started: 0};
	const total = random.integer(1, MAX_STARTS);
	const start = program => {
		const params = startParams({id: `p-${load.asked}`, ...program(mark.text(load.asked++))});
		random
			.pick(clients)
			.call('process/start', params)
			.then(
				() => load.started++,
				() => {},
			);
	};
	const startOne = () => start(WORKLOADS[random.pick(WEIGHTED_KINDS)].start);
	const startAll = async () => {
		if (added.length > 0) for (let count = 0; count < ADDED_STARTS; count++) start(random.pick(added));
		while (!load.over && load.asked < total) {
			const burst = random.integer(1, 10);
			for (let count = 0; count < burst && load.asked < total; count++) startOne();
			await delay(random.integer(0, 20));
		}
	};
	void startAll();
	return load;
}

/** Looks until nobody is left, and twice more when the time is over. */
async function watchThemGo(mark, mode, killedAt) {
	const seen = look(mark).processes.length;
	let goneAfter;
	let watchdogGoneAfter;
	while (performance.now() - killedAt < GONE_MS) {
		await delay(LOOK_EVERY_MS);
		if (watchdogGoneAfter !== undefined) continue;
		const {processes, watchdogs} = look(mark);
		const after = performance.now() - killedAt;
		if (processes.length === 0) goneAfter ??= after;
		if (processes.length + watchdogs.length === 0) watchdogGoneAfter = after;
	}
	const first = look(mark);
	const trace = mode.lastTrace();
	await delay(AGAIN_MS);
	const second = look(mark);
	const processes = [...first.processes, ...second.processes];
	if (mode.lastTrace() !== trace) processes.push({pid: 0, command: 'a session hopper'});
	for (const {pid} of processes) if (pid !== 0) signalProcess(pid, 'SIGKILL');
	let {watchdogs} = second;
	while (watchdogs.length > 0 && performance.now() - killedAt < WATCHDOG_GONE_MS) {
		await delay(LOOK_EVERY_MS);
		({watchdogs} = look(mark));
		if (watchdogs.length === 0) watchdogGoneAfter = performance.now() - killedAt;
	}
	return {seen, goneAfter, watchdogGoneAfter, survivors: processes, watchdogs};
}

/** Processes that bear the mark: those that were started, and the watchdog. */
function look(mark) {
	const living = mark.living();
	const [watchdogs, processes] = [true, false].map(wanted =>
		living.filter(({command: words}) => words.includes(WATCHDOG) === wanted),
	);
	return {processes, watchdogs};
}

function figures(mode) {
	const own = results.filter(({name}) => name === mode);
	const sum = pick => own.reduce((total, each) => total + pick(each), 0);
	const survivors = own.flatMap(({round, survivors: left}) => left.map(each => ({round, ...each})));
	for (const {round, pid, command: words} of survivors.slice(0, SHOWN))
		console.error(`${mode}: round ${round} left ${pid}: ${words.slice(0, 200)}`);
	const late = own.filter(({watchdogs}) => watchdogs.length > 0).length;
	const times = name => spread(own.map(each => each[name]).filter(time => time !== undefined));
	return [
		[mode, 'servers killed (seed)', `${own.length} (${seed})`, true],
		[mode, 'starts asked for / answered before the kill', `${sum(e => e.asked)} / ${sum(e => e.started)}`, true],
		[mode, 'processes alive right after the kill', sum(each => each.seen), true],
		[mode, 'ms until the last one is gone, p50 / p99 / most', times('goneAfter'), true],
		[mode, 'ms until the watchdog is gone too, p50 / p99 / most', times('watchdogGoneAfter'), true],
		[mode, `processes alive after ${GONE_MS} ms`, survivors.length, survivors.length === 0],
		[mode, 'rounds with such', new Set(survivors.map(({round}) => round)).size, survivors.length === 0],
		[mode, `watchdogs alive after ${WATCHDOG_GONE_MS} ms`, late, late === 0],
	];
}
