// Random and mutated messages against the built command, on both transports, with the promises of the protocol checked
// on every reply. A run is a row of episodes: the life of one client, made from the seed and the number of the episode
// alone, so that any of them can be played again by itself. See node bench/fuzz.mjs --help.
import {LANES, MAX_VIOLATIONS, MiB} from './fuzz/bounds.mjs';
import {play, Story} from './fuzz/episode.mjs';
import {liveProcesses} from './fuzz/live-processes.mjs';
import {cpuSeconds, eventually, processesOf} from './fuzz/observe.mjs';
import {options} from './fuzz/options.mjs';
import {startWebSocketServer} from './fuzz/server.mjs';
import {kinds, outcomes, totals} from './fuzz/tally.mjs';
import {report, violations} from './fuzz/violation.mjs';
import {cleanUp, token} from './fuzz/workspace.mjs';

const PROGRESS_MS = 2000;
const LEFT_BEHIND_MS = 5000;

process.exitCode = 1;
try {
	const rows = await run();
	print(rows);
	process.exitCode = rows.every(([, , kept]) => kept) ? 0 : 1;
} finally {
	cleanUp();
}

/** Rows of what, value, kept. */
async function run() {
	const server = options.transport === 'stdio' ? undefined : await startWebSocketServer();
	const began = performance.now();
	const seconds = () => (performance.now() - began) / 1000;
	const progress = setInterval(() => {
		const rate = Math.round(totals.messages / seconds());
		const where = `episode ${totals.episodes}, ${liveProcesses()} processes`;
		console.error(`${totals.messages} of ${options.messages} messages, ${rate}/s, ${where}`);
	}, PROGRESS_MS);
	if (options.only === undefined) await Promise.all(Array.from({length: LANES}, () => lane(server)));
	else await episode(options.only, server);
	clearInterval(progress);
	return [...figures(seconds()), ...((await server?.finish()) ?? []), ...(await lastLook())];
}

async function lane(server) {
	while (totals.messages < options.messages && violations.length < MAX_VIOLATIONS) {
		await episode(totals.episodes++, server);
	}
}

async function episode(index, server) {
	const story = new Story(index, server);
	try {
		await play(story);
	} catch (error) {
		report(error, story);
	} finally {
		for (const peer of story.peers) peer.drop();
	}
}

function figures(seconds) {
	const {messages, episodes, connections, probes, starts, sentBytes, receivedBytes} = totals;
	const rows = [
		['messages sent', messages],
		['seconds', seconds.toFixed(1)],
		['messages per second', Math.round(messages / seconds)],
		['processor seconds of the fuzzer', cpuSeconds(process.pid)],
		['episodes / connections', `${episodes} / ${connections}`],
		['probes between them', probes],
		['processes asked for', starts],
		['MiB sent / received', `${Math.round(sentBytes / MiB)} / ${Math.round(receivedBytes / MiB)}`],
		...sorted(kinds).map(([kind, times]) => [`input: ${kind}`, times]),
		...sorted(outcomes).map(([outcome, times]) => [`outcome: ${outcome}`, times]),
	];
	return rows.map(([what, value]) => [what, value, true]);
}

async function lastLook() {
	await eventually(() => processesOf(token).length === 0, LEFT_BEHIND_MS);
	const left = processesOf(token).length;
	return [
		['processes left on the machine', left, left === 0],
		['violations', violations.length, violations.length === 0],
	];
}

function print(rows) {
	const {seed, transport} = options;
	if (options.json) {
		const values = Object.fromEntries(rows.map(([what, value]) => [what, value]));
		const kept = rows.every(([, , ok]) => ok);
		console.log(JSON.stringify({seed, transport, kept, ...values, found: violations}));
		return;
	}
	console.log(`\nseed ${seed}\n\n| what | value | kept |\n|---|--:|---|`);
	for (const [what, value, ok] of rows) console.log(`| ${what} | ${value} | ${ok ? 'yes' : '**NO**'} |`);
}

function sorted(map) {
	return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
