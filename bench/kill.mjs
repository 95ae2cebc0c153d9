// Nothing outlives a server that is killed: random loads, SIGKILL at a random moment, and a look at what is left.
//   node bench/kill.mjs [--rounds 200] [--seed N] [--nobody-share 0.2]      ends with a table, exit 1 on a broken promise
import {connect, startParams} from './lib/client.mjs';
import {Mark} from './lib/mark.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {isWatchdog, sessionOf, signalProcess} from './lib/proc.mjs';
import {Random, weightedList} from './lib/random.mjs';
import {AS_NOBODY, COMMAND, startServer} from './lib/server.mjs';
import {spread} from './lib/stats.mjs';
import {finish} from './lib/tables.mjs';
import {delay, inParallel} from './lib/waiting.mjs';
import {WORKLOADS} from './lib/workloads.mjs';

/** The kill comes at most this long after the load began. */
const LOAD_MS = 150;
/** When the last process has to be gone, and the watchdog with it. */
const GONE_MS = 2000;
const LOOK_EVERY_MS = 50;
const MAX_STARTS = 40;
const WARM_SHARE = 0.75;
const SHOWN = 20;
const WEIGHTED_KINDS = weightedList(Object.entries(WORKLOADS).map(([kind, {weight}]) => [weight, kind]));

const {rounds, seed, nobodyShare, atOnce, command} = readOptions(
	'Kills servers under load and looks for what they leave behind.',
	{
		rounds: {default: 200, help: 'servers to kill'},
		seed: SEED,
		nobodyShare: {
			default: process.getuid() === 0 ? 0.2 : 0,
			help: 'share of servers run as nobody; needs root and setpriv',
		},
		atOnce: {default: 4, help: 'servers at a time'},
		command: COMMAND,
	},
);
console.error(`seed ${seed}`);
const results = [];
await inParallel(rounds, atOnce, async round => {
	results.push(await playRound(round));
	if (results.length % 20 === 0) console.error(`${results.length} of ${rounds} rounds`);
});
finish([...new Set(results.map(({user}) => user))].flatMap(user => figures(user)));

async function playRound(round) {
	const random = new Random(seed * 10_007 + round);
	const user = random.chance(nobodyShare) ? 'as nobody' : 'as ourselves';
	const mark = new Mark(process.pid, round);
	const wrap = argv => mark.wrap([...(user === 'as nobody' ? AS_NOBODY : []), ...argv]);
	const server = await startServer({command, wrap});
	const clients = await Promise.all(Array.from({length: random.integer(1, 2)}, () => connect(server.url)));
	// Most servers have loaded their native parts when the load begins, the others do so with the first start.
	if (random.chance(WARM_SHARE)) await clients[0].call('process/start', startParams({id: 'warm-up', argv: ['true']}));
	const load = beginLoad(clients, mark, random);
	await delay(random.next() * LOAD_MS);
	server.kill('SIGKILL');
	const killedAt = performance.now();
	load.over = true;
	await server.exited;
	return {round, user, asked: load.asked, started: load.started, ...(await watchThemGo(mark, killedAt))};
}

/** Starts processes over the connections, in bursts and one by one, until it is told that it is over. */
function beginLoad(clients, mark, random) {
	const load = {over: false, asked: 0, started: 0};
	const total = random.integer(1, MAX_STARTS);
	const startOne = () => {
		const kind = random.pick(WEIGHTED_KINDS);
		const id = `${kind}-${load.asked}`;
		const params = startParams({id, ...WORKLOADS[kind].start(mark.text(load.asked++))});
		random
			.pick(clients)
			.call('process/start', params)
			.then(
				() => load.started++,
				() => {},
			);
	};
	const startAll = async () => {
		while (!load.over && load.asked < total) {
			const burst = random.integer(1, 10);
			for (let count = 0; count < burst && load.asked < total; count++) startOne();
			await delay(random.integer(0, 20));
		}
	};
	void startAll();
	return load;
}

/** Looks until nobody is left, and once more when the time is over. */
async function watchThemGo(mark, killedAt) {
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
	const {processes, watchdogs} = look(mark);
	for (const {pid} of processes) signalProcess(pid, 'SIGKILL');
	return {seen, goneAfter, watchdogGoneAfter, survivors: processes, watchdogs};
}

/** Processes that bear the mark: those that were started, and the watchdog with its own helpers. */
function look(mark) {
	const living = mark.living();
	const sessions = new Set(living.filter(({pid}) => isWatchdog(pid)).map(({pid}) => pid));
	const watchdogs = living.filter(({pid}) => sessions.has(sessionOf(pid)));
	return {processes: living.filter(each => !watchdogs.includes(each)), watchdogs};
}

function figures(user) {
	const own = results.filter(each => each.user === user);
	const sum = pick => own.reduce((total, each) => total + pick(each), 0);
	const survivors = own.flatMap(({round, survivors: left}) => left.map(each => ({round, ...each})));
	for (const {round, pid, command: words} of survivors.slice(0, SHOWN))
		console.error(`${user}: round ${round} left ${pid}: ${words.slice(0, 200)}`);
	const late = own.filter(({watchdogs}) => watchdogs.length > 0).length;
	const times = name => spread(own.map(each => each[name]).filter(time => time !== undefined));
	return [
		[user, 'servers killed (seed)', `${own.length} (${seed})`, true],
		[user, 'starts asked for / answered before the kill', `${sum(e => e.asked)} / ${sum(e => e.started)}`, true],
		[user, 'processes alive right after the kill', sum(each => each.seen), true],
		[user, 'ms until the last one is gone, p50 / p99 / most', times('goneAfter'), true],
		[user, 'ms until the watchdog is gone too, p50 / p99 / most', times('watchdogGoneAfter'), true],
		[user, `processes alive after ${GONE_MS} ms`, survivors.length, survivors.length === 0],
		[user, 'rounds with such', new Set(survivors.map(({round}) => round)).size, survivors.length === 0],
		[user, `watchdogs alive after ${GONE_MS} ms`, late, late === 0],
	];
}
