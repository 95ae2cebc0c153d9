// A server that replaces itself again and again while its processes are busy: same pids, every byte, every exit code.
//   node bench/upgrade.mjs [--upgrades 100] [--processes 200] [--clients 4]      exit 1 on a broken promise; needs perl
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {request} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {SessionClient} from '../dist/client/session/session-client.js';
import {connectWebSocket} from '../dist/transports/node/connect-web-socket.js';
import {toMib} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {percentile, spread} from './lib/stats.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, until} from './lib/waiting.mjs';

const {upgrades, processes, clients, command} = readOptions('Upgrades of a server under busy processes.', {
	upgrades: {default: 100, help: 'how often it replaces itself'},
	processes: {default: 200, help: 'half of them on terminals; one in ten echoes its input instead'},
	clients: {default: 4, help: 'sessions they are in'},
	command: COMMAND,
});
/** Longest wait for anything but a number of upgrades. */
const MAX_WAIT_MS = 60_000;
const PAUSE_MS = 50;
const ECHO_EVERY = 10;
/** Every so many of them write much more than the others. */
const FLOOD_EVERY = 20;

const folder = mkdtempSync(join(tmpdir(), 'longarm-upgrade-'));
const stop = join(folder, 'stop');
const began = performance.now();
const server = await startServer({command, logLevel: 'info', settings: ['--max-processes', '20000'], echo: false});
const sessions = await Promise.all(
	Array.from({length: clients}, () => SessionClient.open(signal => connectWebSocket(server.url, {signal}))),
);
const totals = {bytes: 0, lines: 0, wrong: 0, gaps: 0, exits: 0, wrongExits: 0, failed: 0};
const over = new AbortController();
const workers = await Promise.all(Array.from({length: processes}, (_, index) => startWorker(index)));
const pidsBefore = await listPids();
const probe = startProbe();

const outages = [];
const takeovers = [];
for (let count = 1; count <= upgrades; count++) {
	probe.reset();
	process.kill(server.pid, 'SIGUSR2');
	await until(() => upgradesSoFar() >= count || server.death !== undefined, {withinMs: MAX_WAIT_MS, everyMs: 5});
	if (server.death !== undefined || upgradesSoFar() < count) throw new Error(server.death ?? server.log().at(-1));
	await Promise.all(sessions.map(session => session.recovered()));
	await delay(PAUSE_MS);
	outages.push(probe.longestMs);
	if (count % 10 === 0) console.error(`${count} upgrades, ${toMib(totals.bytes)} MiB`);
}
for (const [, ms] of server.stderr.matchAll(/"msg":"upgraded".*"ms":(\d+)/g)) takeovers.push(Number(ms));
const pidsAfter = await listPids();
probe.stop();
over.abort();
writeFileSync(stop, '');
await Promise.all(workers.map(({done}) => done));
for (const session of sessions) session.close();
const code = await server.stop();
rmSync(folder, {recursive: true, force: true});

const samePids = pidsBefore.filter((pid, index) => pid === pidsAfter[index]).length;
const row = rowsOf('upgrades');
finish([
	row('seconds', ((performance.now() - began) / 1000).toFixed(0)),
	row('upgrades / processes', `${takeovers.length} / ${processes}`, takeovers.length === upgrades),
	row('time without an answer, p50 / p99 / max (ms)', spread(outages)),
	row(
		'from the last step of the old program to the new one, p50 / max (ms)',
		`${percentile(takeovers, 50)} / ${percentile(takeovers, 100)}`,
	),
	row('MiB / lines checked', `${toMib(totals.bytes)} / ${totals.lines}`),
	row('wrong, missing or repeated lines', totals.wrong, totals.wrong === 0),
	row('gaps / lost processes', `${totals.gaps} / ${totals.failed}`, totals.gaps + totals.failed === 0),
	row('same pids', `${samePids} of ${processes}`, samePids === processes),
	row(
		'right exit codes',
		`${totals.exits - totals.wrongExits} of ${processes}`,
		totals.exits === processes && totals.wrongExits === 0,
	),
	row('exit code of the server', code, code === 0),
]);

function upgradesSoFar() {
	return server.stderr.split('"upgraded"').length - 1;
}

/** A process that writes numbered lines until the end, or one that gets them from here and gives them back. */
async function startWorker(index) {
	const session = sessions[index % sessions.length];
	const isEcho = index % ECHO_EVERY === 0;
	const exitCode = index % 100;
	const burst = index % FLOOD_EVERY === 1 ? 2000 : 20;
	const counter = `$|=1; my $i=0; until (-e "${stop}") { my $t=""; $t.="line ".(++$i)."\\n" for 1..${burst}; print $t; select(undef,undef,undef,0.05) } exit ${exitCode}`;
	const echo = `$|=1; while (<STDIN>) { print } exit ${exitCode}`;
	const {process: handle} = await session.start(
		{
			processId: `p${index}`,
			argv: ['perl', '-e', isEcho ? echo : counter],
			cwd: '/tmp',
			env: {PATH: process.env.PATH},
			tty: !isEcho && index % 2 === 1,
			...(isEcho && {io: {pipe: {stdin: 'open'}}}),
		},
		{backpressure: index % 4 === 2},
	);
	if (isEcho) void feed(handle);
	return {done: check(handle, exitCode)};
}

async function feed(handle) {
	for (let count = 1; !over.signal.aborted; count += 10) {
		await handle.write(Array.from({length: 10}, (_, index) => `line ${count + index}\n`).join(''));
		await delay(20);
	}
	await handle.closeStdin();
}

async function check(handle, exitCode) {
	let [number, rest] = [0, ''];
	for await (const event of handle.events()) {
		if (event.kind === 'gap' || event.kind === 'lagged') totals.gaps++;
		if (event.kind === 'failed') {
			totals.failed++;
			console.error(event.message);
		}
		if (event.kind === 'exited') {
			totals.exits++;
			if (event.exitCode !== exitCode) totals.wrongExits++;
		}
		if (event.kind !== 'output') continue;
		totals.bytes += event.bytes.length;
		const lines = (rest + Buffer.from(event.bytes).toString('latin1')).replaceAll('\r', '').split('\n');
		rest = lines.pop();
		totals.lines += lines.length;
		for (const line of lines) if (line !== `line ${++number}`) totals.wrong++;
	}
	if (rest !== '') totals.wrong++;
}

async function listPids() {
	const lists = await Promise.all(sessions.map(session => session.repeat('process/list', {})));
	const byId = new Map(lists.flatMap(list => list.processes).map(({processId, pid}) => [processId, pid]));
	return Array.from({length: processes}, (_, index) => byId.get(`p${index}`));
}

/** Asks for a page all the time; the longest time from one answer to the next is that without one. */
function startProbe() {
	const stopped = new AbortController();
	let answeredAt = performance.now();
	let longestMs = 0;
	const ask = async () => {
		while (!stopped.signal.aborted) {
			const isAnswered = await new Promise(resolve => {
				const asked = request(`${server.url.replace('ws:', 'http:')}/readyz`, {agent: false}, response => {
					response.resume();
					response.once('end', () => resolve(true));
					response.once('error', () => resolve(false));
				});
				asked.once('error', () => resolve(false));
				asked.end();
			});
			if (!isAnswered) continue;
			const now = performance.now();
			longestMs = Math.max(longestMs, now - answeredAt);
			answeredAt = now;
			await delay(2);
		}
	};
	void ask();
	return {
		get longestMs() {
			return longestMs;
		},
		reset() {
			longestMs = 0;
			answeredAt = performance.now();
		},
		stop() {
			stopped.abort();
		},
	};
}
