// Processor time of the server per unit of work with output on disk and without it: a stream, echoes, and short processes;
// and what a bare write(2) of the same stream costs. With `--base` the same of another build, interleaved.
//   node bench/spill.mjs [--rounds 7] [--state DIR] [--base dist/bin/longarm.js]
import {closeSync, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {connect, startParams} from './lib/client.mjs';
import {MIB} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {readProc, threadsOf} from './lib/proc.mjs';
import {COMMAND, startServer, warmUp} from './lib/server.mjs';
import {markdownTable} from './lib/tables.mjs';

const {rounds, mb, echoes, spawns, state, command, base} = readOptions('What output on disk costs the server.', {
	rounds: {default: 7, help: 'times that everything is measured'},
	mb: {default: 64, help: 'MiB of the stream'},
	echoes: {default: 1000, help: 'lines that are given back one after the other'},
	spawns: {default: 100, help: 'processes that are run one after the other'},
	state: {type: 'string', help: 'directory to keep output in; a temporary one by default'},
	command: COMMAND,
	base: {type: 'string', help: 'another build to compare with'},
});
const folder = mkdtempSync(join(state ?? scratchFolder('spill'), 'state-'));
const WORK = {
	stream: {unit: 'us/MiB', count: mb, run: stream},
	echo: {unit: 'us/line', count: echoes, run: echo},
	spawn: {unit: 'us/process', count: spawns, run: spawnAll},
};
const PLACES = {memory: {}, disk: {spill: {}}};
let nextId = 1;

const servers = {};
for (const [name, each] of Object.entries({...(base && {base}), new: command})) {
	const server = await startServer({command: each, settings: ['--state', join(folder, name)], logLevel: 'error'});
	await warmUp(server);
	servers[name] = {...server, pid: server.pid, client: await connect(server.url)};
}
const samples = {};
for (let round = -1; round < rounds; round++) {
	for (const [what, {count, run}] of Object.entries(WORK)) {
		for (const [place, extra] of Object.entries(PLACES)) {
			for (const [name, {client, pid}] of inTurn(round)) {
				const before = cpuMicrosOf(pid);
				await run(client, extra);
				// The first round warms everything up.
				if (round >= 0) (samples[`${what} ${place} ${name}`] ??= []).push((cpuMicrosOf(pid) - before) / count);
			}
		}
	}
}
const floor = Array.from({length: rounds}, bareWrites);
for (const {client, stop} of Object.values(servers)) {
	client.socket.close();
	await stop();
}
rmSync(folder, {recursive: true, force: true});

const names = Object.keys(servers);
const rows = Object.entries(WORK).flatMap(([what, {unit}]) => {
	const of = (place, name) => samples[`${what} ${place} ${name}`];
	return [
		...names.map(name => [
			`${what}, ${name}`,
			unit,
			median(of('memory', name)).toFixed(0),
			median(of('disk', name)).toFixed(0),
			ratio(of('disk', name), of('memory', name)),
		]),
		...(base
			? [
					[
						`${what}, new / base`,
						'',
						ratio(of('memory', 'new'), of('memory', 'base')),
						ratio(of('disk', 'new'), of('disk', 'base')),
						'',
					],
				]
			: []),
	];
});
rows.push(['bare write(2) of the stream', 'us/MiB', '', median(floor).toFixed(0), '']);
console.log(markdownTable(['work', 'unit', 'in memory', 'on disk', 'disk / memory'], 'llrrr', rows));
process.exit();

/** Neither build is always the first. */
function inTurn(round) {
	const all = Object.entries(servers);
	return round % 2 === 0 ? all : all.toReversed();
}

/** Median of the ratios of pairs, and the least and the most. */
function ratio(ours, theirs) {
	const all = ours.map((value, index) => value / theirs[index]).sort((a, b) => a - b);
	return `${median(all).toFixed(2)} [${all[0].toFixed(2)}..${all.at(-1).toFixed(2)}]`;
}

function median(values) {
	return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function cpuMicrosOf(pid) {
	return threadsOf(pid).reduce(
		(sum, thread) => sum + Number(readProc(`${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1000,
		0,
	);
}

async function runOne(client, argv, extra, onOutput = () => {}) {
	const id = `p${nextId++}`;
	await new Promise((resolve, reject) => {
		client.watch(id, (method, params) => {
			if (method === 'process/output') onOutput(id, params);
			else if (method === 'process/closed') resolve();
		});
		client.call('process/start', startParams({id, argv, io: {pipe: {stdin: 'open'}}, ...extra})).catch(reject);
	});
	client.unwatch(id);
}

function stream(client, extra) {
	return runOne(client, ['head', '-c', String(mb * MIB), '/dev/zero'], extra);
}

async function echo(client, extra) {
	let left = echoes;
	const chunk = Buffer.from(`${'x'.repeat(63)}\n`).toString('base64');
	await runOne(client, ['sh', '-c', 'echo; exec cat'], extra, processId => {
		const [method, params] = left > 0 ? ['process/write', {chunk, writeId: String(left)}] : ['process/closeStdin', {}];
		left--;
		client.call(method, {processId, ...params}).catch(() => {});
	});
}

async function spawnAll(client, extra) {
	for (let count = 0; count < spawns; count++) await runOne(client, ['true'], extra);
}

/** Microseconds of processor per MiB. */
function bareWrites() {
	const path = join(folder, 'floor');
	const block = Buffer.alloc(64 * 1024, 1);
	const fd = openSync(path, 'w');
	const before = process.cpuUsage();
	for (let at = 0; at < mb * MIB; at += block.length) writeSync(fd, block, 0, block.length, at);
	const {user, system} = process.cpuUsage(before);
	closeSync(fd);
	rmSync(path);
	return (user + system) / mb;
}
