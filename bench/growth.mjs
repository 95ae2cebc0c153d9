// How cost grows with the number of idle processes and of idle connections: starting, streaming, doing nothing, memory.
//   node bench/growth.mjs [--processes 1,10,100,1000,5000] [--connections 1,10,100,1000] [--picture bench/growth.svg]

import {writeFileSync} from 'node:fs';
import {connect, run, startParams} from './lib/client.mjs';
import {drawCurves} from './lib/curves-svg.mjs';
import {timedWithCpu} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {rssOf} from './lib/proc.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {percentile} from './lib/stats.mjs';
import {finish} from './lib/tables.mjs';
import {delay, inParallel} from './lib/waiting.mjs';

const IDLE_MS = 5000;
/** One more of its kind, tried this often. */
const SPAWNS = 40;
const STREAM_MIB = 128;
const STREAMS = 3;
/** Requests on their way at once. */
const WIDTH = 16;
/** Above this share of what straight growth from the first steps would give, something grows too fast. */
const SLACK = 1.5;
/** The step up to which costs are those of the server alone. */
const BASE_COUNT = 100;
const FOREVER = '31536011';

const {processes, connections, picture, command} = readOptions('Cost of starting, streaming and idling in a crowd.', {
	processes: {default: '1,10,100,1000,5000', help: 'numbers of idle processes'},
	connections: {default: '1,10,100,1000', help: 'numbers of idle connections'},
	picture: {default: 'bench/growth.svg', help: 'where the curves are drawn'},
	command: COMMAND,
});
const rows = [];
let runs = 0;
const curves = [
	await grow('processes', numbers(processes), addProcesses),
	await grow('connections', numbers(connections), addConnections),
];
writeFileSync(picture, drawCurves(curves.flatMap(panelsOf)));
finish([...rows, ['all', 'drawn', picture, true]]);

function numbers(text) {
	return String(text).split(',').map(Number);
}

/** One server; the crowd becomes larger from step to step, and each time the same things are measured. */
async function grow(kind, counts, add) {
	const server = await startServer({command, settings: ['--max-processes-per-session', '10000']});
	const client = await connect(server.url);
	await measure(client, server.pid);
	const empty = rssOf(server.pid);
	const points = [];
	let held = 0;
	for (const count of counts) {
		const adding = await timedWithCpu(server.pid, () => add(server, client, held, count));
		const added = count - held;
		held = count;
		const point = {
			count,
			rssMib: rssOf(server.pid) - empty,
			addCpuMs: adding.cpuMs / added,
			...(await measure(client, server.pid)),
			idleShare: await idleShare(server.pid),
		};
		points.push(point);
		rows.push([kind, `${count}: ${shown(point)}`, '', true]);
		console.error(`${kind} ${count}: ${shown(point)}`);
	}
	rows.push([kind, 'no worse than straight', worst(points), worst(points) === 'yes']);
	await server.stop();
	return {kind, points};
}

async function addProcesses(_server, client, from, to) {
	await inParallel(to - from, WIDTH, index =>
		client.call('process/start', startParams({id: `idle-${from + index}`, argv: ['sleep', FOREVER]})),
	);
}

async function addConnections({url}, _client, from, to) {
	await inParallel(to - from, WIDTH, () => connect(url));
}

/** One more start at a time, and one stream, in the crowd. */
async function measure(client, pid) {
	const {times: latencies} = await inParallel(SPAWNS, 1, () => run(client, {id: unique(), script: 'exit 0'}));
	const speeds = [];
	const costs = [];
	for (let count = 0; count < STREAMS; count++) {
		const {ms, cpuMs} = await timedWithCpu(pid, () =>
			run(client, {id: unique(), script: `head -c ${STREAM_MIB}M /dev/zero`, onChunk: () => {}}),
		);
		speeds.push((STREAM_MIB * 1000) / ms);
		costs.push(cpuMs / STREAM_MIB);
	}
	return {
		spawnMs: percentile(latencies, 50),
		streamMibPerS: percentile(speeds, 50),
		streamCpuMs: percentile(costs, 50),
	};
}

function unique() {
	return `one-more-${runs++}`;
}

async function idleShare(pid) {
	// The traces of the measuring itself are gone by then.
	await delay(1000);
	const {cpuMs} = await timedWithCpu(pid, () => delay(IDLE_MS));
	return cpuMs / IDLE_MS;
}

function shown({rssMib, addCpuMs, spawnMs, streamMibPerS, streamCpuMs, idleShare: idle}) {
	return [
		`one more start ${spawnMs.toFixed(2)} ms`,
		`adding one ${addCpuMs.toFixed(2)} ms of processor`,
		`stream ${streamMibPerS.toFixed(0)} MiB/s, ${streamCpuMs.toFixed(2)} ms/MiB`,
		`idle ${(idle * 100).toFixed(2)} % of a processor`,
		`memory +${rssMib} MiB`,
	].join(', ');
}

/** Costs per piece must not grow from a hundred to the most; idling and memory not faster than the crowd. */
function worst(points) {
	const base = points.findLast(({count}) => count <= BASE_COUNT) ?? points[0];
	const last = points.at(-1);
	const growth = last.count / base.count;
	const faults = [
		['a start', last.spawnMs / base.spawnMs, growth],
		['adding', last.addCpuMs / Math.max(base.addCpuMs, 0.1), SLACK],
		['a stream', last.streamCpuMs / base.streamCpuMs, SLACK],
		['idling', last.idleShare / Math.max(base.idleShare, 0.002), growth],
		['memory', last.rssMib / Math.max(base.rssMib, 1), growth],
	].filter(([, ratio, most]) => ratio > most * SLACK);
	return faults.length === 0
		? 'yes'
		: faults.map(([what, ratio]) => `${what} grew ${ratio.toFixed(1)}-fold`).join(', ');
}

function panelsOf({kind, points}) {
	const curve = (title, unit, value) => ({
		title: `${title} (${unit})`,
		across: `idle ${kind}`,
		points: points.map(point => [point.count, value(point)]),
	});
	return [
		curve('one more start', 'ms', point => point.spawnMs),
		curve('adding one', 'ms of processor', point => point.addCpuMs),
		curve('streaming', 'ms of processor per MiB', point => point.streamCpuMs),
		curve('idling', '% of one processor', point => point.idleShare * 100),
		curve('memory', 'MiB more', point => point.rssMib),
	];
}
