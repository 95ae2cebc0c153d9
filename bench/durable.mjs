// Durable processes survive their server, and nothing else does: servers on one state directory after the other are killed
// under load, and the next one has to list every durable process, with its output from byte 0 and its exit code.
//   node bench/durable.mjs [--rounds 200] [--seed N] [--user nobody]             ends with a table, exit 1 on a broken promise
import {chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {connect, startParams} from './lib/client.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {signalProcess} from './lib/proc.mjs';
import {livingProcesses} from './lib/process-search.mjs';
import {Random} from './lib/random.mjs';
import {AS_NOBODY, COMMAND, startServer} from './lib/server.mjs';
import {spread} from './lib/stats.mjs';
import {finish} from './lib/tables.mjs';
import {delay, inParallel, until} from './lib/waiting.mjs';

/** When the last process that is not durable has to be gone. */
const GONE_MS = 5000;
/** When the keepers have to be gone that have nothing to do any more. */
const KEEPERS_GONE_MS = 20_000;
const NOBODY = 65_534;
const MAX_LOAD_MS = 2500;
/** Share of the servers that are asked to end instead. */
const ORDERLY_SHARE = 0.1;
/** Prints known lines, some at once and some later, and ends with a known code; its own name is in its arguments. */
const PROGRAM = `i=0; while [ $i -lt $2 ]; do i=$((i+1)); echo "$1 $i ${'.'.repeat(50)}"; [ $((i % $3)) != 0 ] || sleep 0.05; done; exit $4`;

const {rounds, seed, atOnce, command, user} = readOptions('Kills servers with durable processes and looks for them.', {
	rounds: {default: 200, help: 'servers to kill'},
	seed: SEED,
	atOnce: {default: 4, help: 'state directories at a time'},
	user: {default: 'root', choices: ['root', 'nobody'], help: 'who runs the servers; another one needs root'},
	command: COMMAND,
});
console.error(`seed ${seed}`);
const wrap = user === 'nobody' ? argv => [...AS_NOBODY, ...argv] : argv => argv;
const tally = {
	killed: 0,
	ended: 0,
	asked: 0,
	answered: 0,
	plain: 0,
	listings: 0,
	bytes: 0,
	exits: 0,
	overCrashes: 0,
	keeperMb: [],
	foundMs: [],
	goneMs: [],
};
const broken = [];
await inParallel(atOnce, atOnce, async line => playLine(line, Math.ceil(rounds / atOnce)));
finish(figures());

/** Servers one after the other on one state directory. */
async function playLine(line, count) {
	const random = new Random(seed * 10_007 + line);
	const directory = mkdtempSync(join(tmpdir(), 'longarm-durable-'));
	const state = join(directory, 'state');
	if (user === 'nobody') {
		chownSync(directory, NOBODY, NOBODY);
		chmodSync(directory, 0o755);
	} else mkdirSync(state, {mode: 0o700});
	/** Durable processes that were answered for and not checked to their end, by id. */
	const expected = new Map();
	const mark = `bench-${process.pid}-${line}`;
	try {
		for (let round = 0, kills = 0; kills <= count; round++) {
			const isLast = kills === count;
			if (await playRound({round, isLast, random, state, expected, mark})) kills++;
		}
		await until(() => listKeepers(state).length === 0, {withinMs: KEEPERS_GONE_MS});
		note(listKeepers(state).length > 0, `${mark}: a keeper without processes goes on`);
		note(findMarked(mark).length > 0, `${mark}: processes are left at the end`);
	} finally {
		for (const {pid} of listKeepers(state)) signalProcess(pid, 'SIGKILL');
		for (const {pid} of findMarked(mark)) signalProcess(pid, 'SIGKILL');
		rmSync(directory, {recursive: true, force: true});
	}
}

/** False if the server was not killed, but asked to end. */
async function playRound({round, isLast, random, state, expected, mark}) {
	const began = performance.now();
	const server = await startServer({command, settings: ['--state', state], logLevel: 'error', wrap});
	const client = await connect(server.url);
	const {processes} = await client.call('process/list', {all: true, includeEnded: true});
	if (round > 0) tally.foundMs.push(performance.now() - began);
	await checkListed(client, new Map(processes.map(each => [each.processId, each])), {expected, mark, round});
	if (isLast) await finishAll(client, expected);
	else beginLoad(client, {random, expected, mark, round});
	if (!isLast) await delay(random.next() * MAX_LOAD_MS);
	for (const {pid} of listKeepers(state)) tally.keeperMb.push(privateMb(pid));
	const isOrderly = isLast || random.chance(ORDERLY_SHARE);
	server.kill(isOrderly ? 'SIGTERM' : 'SIGKILL');
	tally[isOrderly ? 'ended' : 'killed']++;
	await server.exited;
	const endedAt = performance.now();
	const isGone = await until(() => findMarked(`${mark}-plain`).length === 0, {withinMs: GONE_MS, everyMs: 25});
	note(!isGone, `${mark}: plain processes outlived round ${round}`);
	tally.goneMs.push(performance.now() - endedAt);
	return isLast || !isOrderly;
}

/** Starts processes until the connection ends. */
function beginLoad(client, {random, expected, mark, round}) {
	const starts = random.integer(1, 6);
	for (let index = 0; index < starts; index++) {
		const id = `${mark}-durable-${round}-${index}`;
		const [lines, atOncePrinted, code] = [random.integer(1, 4000), random.integer(20, 400), random.integer(0, 99)];
		const argv = ['/bin/sh', '-c', PROGRAM, 'sh', id, String(lines), String(atOncePrinted), String(code)];
		tally.asked++;
		const facts = {id, lines, code, round};
		// One that is not answered for may have been started: then it has to be listed, too.
		expected.set(id, {...facts, isAnswered: false});
		void start(client, startParams({id, argv, durable: true, tty: random.chance(0.2)}), () => {
			tally.answered++;
			expected.set(id, {...facts, isAnswered: true});
		});
		const plain = ['/bin/sh', '-c', 'setsid -f sleep 1000 "$0"; exec sleep 1000', `${mark}-plain-${round}-${index}`];
		void start(client, startParams({id: `plain-${round}-${index}`, argv: plain}), () => tally.plain++);
	}
}

async function start(client, params, answered) {
	try {
		await client.call('process/start', params);
		answered();
	} catch {
		// The server was killed first.
	}
}

/** Every durable process is there, with a beginning of its output, and everything that runs is in the list. */
async function checkListed(client, listed, {expected, mark, round}) {
	for (const facts of Array.from(expected.values())) {
		const entry = listed.get(facts.id);
		if (!entry) {
			note(facts.isAnswered, `${facts.id} is not listed in round ${round}`);
			expected.delete(facts.id);
			continue;
		}
		tally.listings++;
		note(!entry.durable || entry.state === 'lost', `${facts.id} is ${entry.state} in round ${round}`);
		const {text, exitCode} = await readOutput(client, facts.id);
		checkOutput(facts, text, exitCode);
		if (exitCode !== undefined) await forget(client, facts, expected, round);
	}
	const running = new Set([...listed.values()].filter(({state}) => state === 'running').map(({pid}) => pid));
	for (const {pid, command: words} of findMarked(`${mark}-durable`)) {
		note(!running.has(pid) && isAlive(pid), `${pid} runs and is not listed: ${words.slice(0, 100)}`);
	}
}

async function finishAll(client, expected) {
	for (const facts of Array.from(expected.values())) {
		const {text, exitCode} = await readOutput(client, facts.id, {isToEnd: true});
		checkOutput(facts, text, exitCode);
		note(exitCode === undefined, `${facts.id} has no exit code`);
		await forget(client, facts, expected, undefined);
	}
}

async function forget(client, {id, round: startedIn}, expected, round) {
	tally.exits++;
	if (round !== startedIn) tally.overCrashes++;
	expected.delete(id);
	await client.call('process/remove', {processId: id});
}

/** Everything up to the present end, or the last one, as an attached client gets it. */
async function readOutput(client, id, {isToEnd = false} = {}) {
	let [text, seq, exitCode, last] = ['', 0, undefined, Number.POSITIVE_INFINITY];
	let reached;
	const done = new Promise(resolve => {
		reached = resolve;
	});
	client.watch(id, (method, params) => {
		if (params.seq === undefined) return;
		note(params.seq !== seq + 1, `${id}: event ${params.seq} after ${seq}`);
		seq = params.seq;
		if (method === 'process/output') text += Buffer.from(params.chunk, 'base64').toString();
		if (method === 'process/exited') exitCode = params.exitCode;
		if (seq >= last || method === 'process/closed') reached();
	});
	const {nextSeq} = await client.call('process/attach', {process: id, role: 'observe', afterSeq: 0});
	if (!isToEnd) last = nextSeq - 1;
	if (seq < last) await done;
	await client.call('process/detach', {processId: id});
	client.unwatch(id);
	return {text: text.replaceAll('\r\n', '\n'), exitCode};
}

function checkOutput({id, lines, code}, text, exitCode) {
	tally.bytes += text.length;
	const whole = Array.from({length: lines}, (__, index) => `${id} ${index + 1} ${'.'.repeat(50)}\n`).join('');
	note(!whole.startsWith(text), `${id}: output differs at ${differsAt(whole, text)}`);
	if (exitCode === undefined) return;
	note(exitCode !== code, `${id}: exit code ${exitCode} and not ${code}`);
	note(text.length !== whole.length, `${id}: ${text.length} of ${whole.length} bytes`);
}

function differsAt(expected, text) {
	for (let index = 0; index < text.length; index++) if (text[index] !== expected[index]) return index;
	return text.length;
}

/** Shells and others that have this text in their arguments. */
function findMarked(text) {
	return livingProcesses(({command: words}) => words.includes(text) && !words.includes('durable.mjs'));
}

function listKeepers(state) {
	const read = name => JSON.parse(readFileSync(join(state, 'keepers', name), 'utf8'));
	try {
		return readdirSync(join(state, 'keepers'))
			.filter(name => name.endsWith('.json'))
			.map(read)
			.filter(({pid}) => isAlive(pid));
	} catch {
		return [];
	}
}

function isAlive(pid) {
	try {
		return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
	} catch {
		return false;
	}
}

function privateMb(pid) {
	try {
		const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
		const kib = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
		return kib / 1024;
	} catch {
		return Number.NaN;
	}
}

function note(isBroken, text) {
	if (!isBroken) return;
	broken.push(text);
	console.error(text);
}

function figures() {
	const keeperMb = tally.keeperMb.filter(mb => mb > 0);
	return [
		['durable', 'servers killed / ended in order (seed)', `${tally.killed} / ${tally.ended} (${seed})`, true],
		['durable', 'durable starts asked for / answered before the end', `${tally.asked} / ${tally.answered}`, true],
		['durable', 'plain starts answered', tally.plain, true],
		['durable', 'times a durable process was looked for in a new server', tally.listings, true],
		['durable', 'ended, of these after a later server had come', `${tally.exits} / ${tally.overCrashes}`, true],
		['durable', 'MB of output read from byte 0 and compared', (tally.bytes / 1e6).toFixed(1), true],
		['durable', 'ms from the start of a server to its list, p50 / p99 / most', spread(tally.foundMs), true],
		['durable', 'ms until plain processes are gone, p50 / p99 / most', spread(tally.goneMs), true],
		['durable', 'private MB of a keeper, p50 / p99 / most', spread(keeperMb, 1), true],
		['durable', 'broken promises', broken.length, broken.length === 0],
	];
}
