// Long outages between a client and its server, of longarm and of the stock program in both roles, while a command prints
// numbered lines: it keeps running, and every line arrives once.
//   node bench/outages.mjs [--seconds 20,40,44] [--pairs stock-ws,stock-hub,own-ws,own-hub] [--command FILE]
// CODEX_BIN names the stock program; codex 0.169.0 is installed on demand. Ends with a table, exit 1 on a violation.

import {execFileSync} from 'node:child_process';
import {existsSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {connectWebSocket, SessionClient} from '../dist/index.js';
import {connectThroughHub} from '../dist/transports/node/relay/connect-through-hub.js';
import {scratchPackage} from '../scripts/lib/scratch-package.mjs';
import {follow, poll, runCommand} from '../test/interop/lib/answers.mjs';
import {InteropHub} from '../test/interop/lib/hub.mjs';
import {ModelServer, say} from '../test/interop/lib/model.mjs';
import {Rig} from '../test/interop/lib/rig.mjs';
import {Scratch, startServer} from '../test/interop/lib/surroundings.mjs';
import {failUsage, readOptions} from './lib/options.mjs';
import {OutageLine} from './lib/outage-line.mjs';
import {COMMAND} from './lib/server.mjs';
import {markdownTable} from './lib/tables.mjs';
import {delay, until, within} from './lib/waiting.mjs';

const STOCK = '@openai/codex@0.169.0';
const PAIRS = {
	'stock-ws': {title: 'codex client, longarm server', open: openServer, play: playStockClient},
	'stock-hub': {title: 'codex client, hub, longarm server', open: openHub, play: playStockClient},
	'own-ws': {title: 'longarm client, codex server', open: openServer, play: playOwnClient},
	'own-hub': {title: 'longarm client, hub, codex server', open: openHub, play: playOwnClient},
};
/** Longest time that clients try to resume; none comes back much later. */
const RECOVERY_MS = 45_000;
/** Longest pause of the stock client between two attempts through a hub. */
const MAX_STOCK_PAUSE_MS = 7500;
/** Lines that arrive before the outage, and time for some more after it. */
const FIRST_LINES = 3;
const LAST_LINES_MS = 2000;
const LONG_POLL_MS = 120_000;
/** A promise that has not settled by then never will. */
const MAX_WAIT_MS = 180_000;
const EXIT_CODE = 6;

const options = readOptions('Long outages between clients and servers of longarm and of the stock program.', {
	seconds: {default: '20,40,44', help: 'lengths of the outages'},
	pairs: {default: Object.keys(PAIRS).join(), help: 'who is at the two ends'},
	command: COMMAND,
});
const lengths = options.seconds.split(',').map(Number);
if (!lengths.every(seconds => seconds > 0)) failUsage('--seconds: expected numbers');
const pairs = options.pairs.split(',');
const unknown = pairs.find(pair => !Object.hasOwn(PAIRS, pair));
if (unknown !== undefined) failUsage(`--pairs: expected ${Object.keys(PAIRS).join()}, got ${unknown}`);

const codexBin = process.env.CODEX_BIN || launcherIn(scratchPackage(STOCK, folder => existsSync(launcherIn(folder))));
console.log(execFileSync(codexBin, ['--version'], {encoding: 'utf8'}).trim());
const scratch = new Scratch();
// Keys of this run, and not those of the user.
process.env.XDG_STATE_HOME = scratch.folder('state');
const model = await new ModelServer().start();
const closers = [];
let results;
try {
	const places = await Promise.all(pairs.map(async pair => ({pair, place: await PAIRS[pair].open(pair)})));
	const trials = places.flatMap(({pair, place}) => lengths.map(seconds => runTrial(pair, seconds, place)));
	results = await Promise.all(trials);
} finally {
	await Promise.allSettled(closers.map(close => close()));
	await model.stop();
	scratch.remove();
}
const columns = ['ends', 'outage, s', 'lines', 'missing', 'doubled', 'back after, s', 'result'];
console.log(`\n${markdownTable(columns, 'lrrrrrl', results.map(toCells))}`);
process.exit(results.every(({violation}) => violation === undefined) ? 0 : 1);

/** One outage. `place.at(line)` is the way of a client to its server through a line. */
async function runTrial(pair, seconds, place) {
	const line = await OutageLine.to(place.url);
	closers.push(() => line.close());
	const name = `${pair}-${String(seconds).replace('.', '-')}`;
	const stopFile = join(scratch.folder('stop', name), 'stop');
	const script = `i=0; until test -e '${stopFile}'; do i=$((i+1)); echo line-$i; sleep 0.1; done; echo total-$i; exit ${EXIT_CODE}`;
	/** Settles when the client is back, or has not come back in time. */
	const outage = async () => {
		line.goDown();
		await delay(seconds * 1000);
		await line.comeBack();
		await until(() => line.returns.length > 0, {withinMs: Math.max(0, RECOVERY_MS - seconds * 1000) + 10_000});
		await delay(LAST_LINES_MS);
		writeFileSync(stopFile, '');
	};
	let text = '';
	let failure;
	try {
		const played = PAIRS[pair].play({name, script, outage, line, place, read: more => (text += more)});
		const exitCode = await within(MAX_WAIT_MS, name, played);
		if (exitCode !== EXIT_CODE) failure = `ended with ${exitCode}`;
	} catch (error) {
		failure = error.message;
	}
	writeFileSync(stopFile, '');
	const mayGiveUp = pair === 'stock-hub' && seconds * 1000 > RECOVERY_MS - MAX_STOCK_PAUSE_MS;
	return {pair, seconds, line, ...judge(text, {failure, seconds, hasGivenUp: mayGiveUp && line.returns.length === 0})};
}

/** A stock client whose last attempt was before the end of the outage has given up, which is no violation of ours. */
function judge(text, {failure, seconds, hasGivenUp}) {
	const numbers = [...text.matchAll(/^line-(\d+)$/gm)].map(([, number]) => Number(number));
	const total = Number(/^total-(\d+)$/m.exec(text)?.[1] ?? Math.max(0, ...numbers));
	const seen = new Set(numbers);
	const missing = Array.from({length: total}, (_, index) => index + 1).filter(number => !seen.has(number)).length;
	const doubled = numbers.length - seen.size;
	const problem = failure ?? (missing + doubled > 0 || total < seconds ? 'wrong lines' : undefined);
	const violation = hasGivenUp && missing + doubled === 0 ? undefined : problem;
	const result = violation ?? (hasGivenUp ? 'no attempt after the outage' : 'every line once');
	return {total, missing, doubled, violation, result: violation === undefined ? result : `**${result}**`};
}

function toCells({pair, seconds, line, total, missing, doubled, result}) {
	return [PAIRS[pair].title, seconds, total, missing, doubled, line.returns[0]?.toFixed(1) ?? '-', result];
}

/** The stock client, run by a scripted model; settles with the exit code of the command. */
async function playStockClient({name, script, outage, line, place, read}) {
	const rig = new Rig({codexBin, scratch, model, hub: place.hub && {executor: {variables: place.variablesFor(line)}}});
	let exitCode;
	const {reason} = await rig.run({
		name,
		// No recording proxy: the line leads to the server itself.
		isStdio: place.hub === undefined,
		async run(t) {
			const turns = async function* () {
				const running = yield* follow(runCommand(script, {yield_time_ms: 500}), isUnderWay);
				read(running.output);
				t.ok(running.sessionId !== undefined, 'no session id');
				const over = outage();
				const ended = yield* follow(poll(running.sessionId, LONG_POLL_MS));
				read(ended.output);
				await over;
				({exitCode} = ended);
				return [say('done')];
			};
			await t.exec(turns, place.hub ? {} : {environments: environmentAt(line.url)});
		},
	});
	if (reason !== undefined) throw new Error(reason);
	return exitCode;
}

/** The command has printed its first lines. */
function isUnderWay(output) {
	return output.includes(`line-${FIRST_LINES}\n`);
}

function environmentAt(url) {
	return ['default = "remote"', 'include_local = false', '[[environments]]', 'id = "remote"', `url = "${url}"`];
}

/** The client of the library; settles with the exit code of the command. */
async function playOwnClient({name, script, outage, line, place, read}) {
	const target = place.hub && {kind: 'registry', url: place.registryUrlFor(line), token: place.hub.clientToken};
	const client = await SessionClient.open(signal =>
		target ? connectThroughHub(target, signal) : connectWebSocket(line.url, {signal}),
	);
	closers.push(() => client.close());
	const argv = ['/bin/sh', '-c', script];
	const start = {processId: name, argv, cwd: 'file:///tmp', env: {PATH: process.env.PATH}, tty: false};
	const {process: remote} = await client.start(start);
	let over;
	let text = '';
	for await (const event of remote.events()) {
		if (event.kind === 'gap') throw new Error(`${event.missedBytes} bytes are missing`);
		if (event.kind !== 'output') continue;
		const more = Buffer.from(event.bytes).toString();
		read(more);
		text += more;
		if (isUnderWay(text)) over ??= outage();
	}
	await over;
	return (await remote.exited).exitCode;
}

/** A server that listens itself. */
async function openServer(pair) {
	const server = await startServer(`${serverCommand(pair)} --listen ws://127.0.0.1:0`, scratch);
	closers.push(() => server.child.stop());
	return {url: server.url};
}

/** A hub, and a server that has registered there. */
async function openHub(pair) {
	const hub = new InteropHub(join(dirname(options.command), '..'), scratch.folder('hub', pair));
	closers.push(() => hub.stop());
	await hub.start();
	await hub.serve(serverCommand(pair), scratch);
	const {variables, registryUrl} = hub.executor;
	const url = variables.CODEX_EXEC_SERVER_NOISE_REGISTRY_URL;
	return {
		hub,
		url,
		variablesFor: line => ({...variables, CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: line.url}),
		registryUrlFor: line => registryUrl.replace(url, line.url),
	};
}

/** The server of a pair is the program that its client is not. */
function serverCommand(pair) {
	if (pair.startsWith('own')) return `exec '${codexBin}' exec-server`;
	return `exec '${process.execPath}' '${options.command}' serve --log-level warn`;
}

function launcherIn(folder) {
	return join(folder, 'node_modules/.bin/codex');
}
