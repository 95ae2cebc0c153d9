// Random and mutated messages against the built command, on both transports, with the promises of the protocol checked
// on every reply. A run is a row of episodes: the life of one client, made from the seed and the number of the episode
// alone, so that any of them can be played again by itself. See node bench/fuzz.mjs --help.

import {kinds, outcomes, totals} from './fuzz/counters.mjs';
import {Episode, runEpisode} from './fuzz/episode.mjs';
import {CLIENTS, MAX_VIOLATIONS} from './fuzz/limits.mjs';
import {liveProcesses} from './fuzz/live-processes.mjs';
import {options} from './fuzz/options.mjs';
import {startWebSocketServer} from './fuzz/server.mjs';
import {report, violations} from './fuzz/violation.mjs';
import {token} from './fuzz/workspace.mjs';
import {toMib} from './lib/measure.mjs';
import {cpuSecondsOf} from './lib/proc.mjs';
import {pidsWithEnvironment} from './lib/process-search.mjs';
import {printResults, rowsOf} from './lib/tables.mjs';
import {until} from './lib/waiting.mjs';

const PROGRESS_MS = 2000;
const LEFT_BEHIND_MS = 5000;

process.exitCode = 1;
if (print(await run())) process.exitCode = 0;

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
	if (options.only === undefined) await Promise.all(Array.from({length: CLIENTS}, () => runClient(server)));
	else await oneEpisode(options.only, server);
	clearInterval(progress);
	return [...figures(seconds()), ...((await server?.finish()) ?? []), ...(await lastLook())];
}

async function runClient(server) {
	while (totals.messages < options.messages && violations.length < MAX_VIOLATIONS) {
		await oneEpisode(totals.episodes++, server);
	}
}

async function oneEpisode(index, server) {
	const episode = new Episode(index, server);
	try {
		await runEpisode(episode);
	} catch (error) {
		report(error, episode);
	} finally {
		for (const peer of episode.peers) peer.drop();
	}
}

function figures(seconds) {
	const {messages, episodes, connections, probes, starts, sentBytes, receivedBytes} = totals;
	const rows = [
		['messages sent', messages],
		['seconds', seconds.toFixed(1)],
		['messages per second', Math.round(messages / seconds)],
		['processor seconds of the fuzzer', cpuSecondsOf(process.pid)],
		['episodes / connections', `${episodes} / ${connections}`],
		['probes between them', probes],
		['processes asked for', starts],
		['MiB sent / received', `${toMib(sentBytes)} / ${toMib(receivedBytes)}`],
		...kinds.sorted().map(([kind, times]) => [`input: ${kind}`, times]),
		...outcomes.sorted().map(([outcome, times]) => [`outcome: ${outcome}`, times]),
	];
	return rows.map(([what, value]) => [what, value, true]);
}

async function lastLook() {
	await until(() => pidsWithEnvironment(token).length === 0, {withinMs: LEFT_BEHIND_MS});
	const left = pidsWithEnvironment(token).length;
	return [
		['processes left on the machine', left, left === 0],
		['violations', violations.length, violations.length === 0],
	];
}

/** Whether every promise was kept. */
function print(rows) {
	const {seed, transport} = options;
	if (!options.json) {
		console.log(`\nseed ${seed}`);
		return printResults(rows.map(row => rowsOf('fuzz')(...row)));
	}
	const values = Object.fromEntries(rows.map(([what, value]) => [what, value]));
	const kept = rows.every(([, , ok]) => ok);
	console.log(JSON.stringify({seed, transport, kept, ...values, found: violations}));
	return kept;
}
