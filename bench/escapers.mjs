// Processes that fork, change their session and exit in a tight loop do not escape: not when they are terminated, when their
// session ends, when the server ends or when it is killed.
//   node bench/escapers.mjs [--rounds 200] [--load 4] [--user nobody] [--ways terminate,session,exit,kill]
import {spawn} from 'node:child_process';
import {connect, startParams} from './lib/client.mjs';
import {buildEscaper, ESCAPER_KINDS} from './lib/escaper.mjs';
import {Mark} from './lib/mark.mjs';
import {failUsage, readOptions, SEED} from './lib/options.mjs';
import {signalProcess, WATCHDOG} from './lib/proc.mjs';
import {Random} from './lib/random.mjs';
import {AS_NOBODY, COMMAND, startServer} from './lib/server.mjs';
import {spread} from './lib/stats.mjs';
import {finish} from './lib/tables.mjs';
import {delay, until} from './lib/waiting.mjs';

/** A chain that counts nothing for so long has ended, or has been stopped, which the mark shows. */
const STILL_MS = 200;
/** When the last process has to be gone, however little processor time the server gets. */
const GONE_MS = 30_000;
const LOOK_EVERY_MS = 20;
const ASK_EVERY_MS = 5;
const MAX_CHAINS = 4;
/** A server of its own for each round, because the way ends it. */
const SERVER_ENDS = ['exit', 'kill'];
const SETTINGS = ['--detached-session', '1ms', '--shutdown-grace', '100ms'];
const WAYS = {terminate: playTerminate, session: playSession, exit: playEnd('SIGTERM'), kill: playEnd('SIGKILL')};

const {rounds, seed, ways, kinds, load, user, command} = readOptions(
	'Ends processes that try to escape, and looks for those that did.',
	{
		rounds: {default: 200, help: 'rounds for each way of ending'},
		seed: SEED,
		ways: {default: Object.keys(WAYS).join(), help: 'how processes are ended'},
		kinds: {default: ESCAPER_KINDS.join(), help: 'kinds of processes'},
		load: {default: 0, help: 'busy processes meanwhile'},
		user: {default: 'self', choices: ['self', 'nobody'], help: 'who runs the server; nobody needs root'},
		command: COMMAND,
	},
);
const played = ways.split(',');
const unknown = played.find(way => !(way in WAYS));
if (unknown !== undefined) failUsage(`--ways: there is no ${unknown}`);
console.error(`seed ${seed}`);
const escaper = buildEscaper();
const busy = Array.from({length: load}, () => spawn(process.execPath, ['-e', 'for (;;);'], {stdio: 'ignore'}));
process.on('exit', () => busy.forEach(child => child.kill('SIGKILL')));

const rows = [];
for (const [index, way] of played.entries()) rows.push(...(await playWay(way, index)));
finish(rows);

async function playWay(way, index) {
	const random = new Random(seed);
	const results = [];
	let served;
	for (let round = 0; round < rounds; round++) {
		const mark = served?.mark ?? new Mark(process.pid, index * 1000 + round);
		served ??= {mark, server: await startMarked(mark)};
		results.push(await playRound(way, round, served, random));
		if (SERVER_ENDS.includes(way)) served = undefined;
		if (results.length % 20 === 0) console.error(`${way}: ${results.length} of ${rounds} rounds`);
	}
	await served?.server.stop();
	return figures(way, results);
}

function startMarked(mark) {
	const wrap = argv => mark.wrap(user === 'nobody' ? [...AS_NOBODY, ...argv] : argv);
	return startServer({command, settings: SETTINGS, wrap, logLevel: 'error'});
}

async function playRound(way, round, {mark, server}, random) {
	const chain = escaper.open(`${way}-${round}`);
	const kind = random.pick(kinds.split(','));
	const chains = random.integer(1, MAX_CHAINS);
	// A process that has exited cannot be terminated.
	const first = way === 'terminate' || random.chance(0.5) ? 'stays' : 'leaves';
	try {
		const client = await connect(server.url);
		await client.call('process/start', startParams({id: `p-${round}`, argv: chain.argv(kind, chains, first)}));
		if (!(await chain.started())) throw new Error(`round ${round}: ${kind} has not started`);
		await delay(random.integer(0, 20));
		const began = performance.now();
		const {named = [], slowest} = await WAYS[way]({server, client, id: `p-${round}`});
		const answered = performance.now() - began;
		const escaped = await findEscaped({way, chain, mark, server});
		if (escaped) console.error(`${way}: round ${round}: ${escaped} of ${chains} x ${kind}, ${first}`);
		client.socket.close();
		return {answered, slowest, escaped, named: named.length, ms: performance.now() - began};
	} finally {
		chain.close();
		for (const {pid} of others(mark, server)) signalProcess(pid, 'SIGKILL');
	}
}

/** What is left after the answer, or of a way without one after a while; undefined if nothing is. */
async function findEscaped({way, chain, mark, server}) {
	if (way !== 'terminate') {
		await until(async () => others(mark, server).length === 0 && !(await chain.runs(LOOK_EVERY_MS)), {
			withinMs: GONE_MS,
			everyMs: LOOK_EVERY_MS,
		});
	}
	if (await chain.runs(STILL_MS)) return 'a running chain';
	const left = others(mark, server);
	return left.length > 0 ? `${left.length} processes` : undefined;
}

/** Processes that came from the server, other than those that end it. */
function others(mark, server) {
	return mark.living().filter(({pid, command: words}) => pid !== server.pid && !words.includes(WATCHDOG));
}

async function playTerminate({client, id}) {
	const asking = {isOver: false};
	const slowest = ask(client, asking);
	const {survivors: named} = await client.call('process/terminate', {processId: id});
	asking.isOver = true;
	return {named, slowest: await slowest};
}

/** The longest time another request took meanwhile. */
async function ask(client, asking) {
	let slowest = 0;
	while (!asking.isOver) {
		const began = performance.now();
		await client.call('environment/status', {});
		slowest = Math.max(slowest, performance.now() - began);
		await delay(ASK_EVERY_MS);
	}
	return slowest;
}

async function playSession({client}) {
	client.socket.terminate();
	return {};
}

function playEnd(signal) {
	return async ({server}) => {
		server.kill(signal);
		await server.exited;
		return {};
	};
}

function figures(way, results) {
	const escaped = results.filter(each => each.escaped && each.named === 0).length;
	const named = results.filter(each => each.named > 0).length;
	const times = name => spread(results.map(each => each[name]).filter(time => time !== undefined));
	return [
		[way, 'rounds (seed, busy processes)', `${results.length} (${seed}, ${load})`, true],
		[way, 'ms until the answer or the end of the server, p50 / p99 / most', times('answered'), true],
		...(way === 'terminate'
			? [[way, 'ms of the slowest other request, p50 / p99 / most', times('slowest'), true]]
			: []),
		...(way === 'terminate' ? [] : [[way, 'ms until the last process was gone, p50 / p99 / most', times('ms'), true]]),
		[way, 'rounds with reported survivors', named, named === 0],
		[way, 'rounds with unreported survivors', escaped, escaped === 0],
	];
}
