import {spawn} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {MIB} from '../../lib/measure.mjs';
import {percentile} from '../../lib/stats.mjs';
import {delay} from '../../lib/waiting.mjs';
import {stopFlood} from '../lib/rpc.mjs';
import {Echo} from './echo.mjs';
import {info, latencies, lower} from './values.mjs';
import {cheapCall, uniqueId} from './work.mjs';

const FLOOD_CLIENT = fileURLToPath(new URL('../lib/flood.mjs', import.meta.url));
const FLOOD_WARM_UP_MS = 200;
const BETWEEN_SAMPLES_MS = 2;
const MAX_CALLS = 60;

/** Latency beside a flood on the same and on another connection, and the end of the flood. */
export async function streamFair(server, sizes) {
	const values = {};
	for (const where of server.isShared ? ['same', 'other'] : ['same']) {
		Object.assign(values, await besideFlood(server, sizes, where));
	}
	return values;
}

async function besideFlood(server, sizes, where) {
	const client = await server.connect();
	const echo = new Echo(client, false);
	await echo.ready();
	const call = await cheapCall(client);
	const flood = where === 'same' ? await floodHere(client) : await floodElsewhere(server.url);
	await delay(FLOOD_WARM_UP_MS);
	const before = await flood.count();
	const began = performance.now();
	const echoes = await sample(sizes.fairN, began + sizes.fairMs, async () => (await echo.once()).all);
	const calls = await sample(Math.min(MAX_CALLS, sizes.fairN), began + 2 * sizes.fairMs, async () => {
		const sent = performance.now();
		await call();
		return performance.now() - sent;
	});
	const rate = ((await flood.count()) - before) / MIB / ((performance.now() - began) / 1000);
	const {ms, answered, after} = await flood.stop();
	await echo.stop();
	server.release(client);
	const note = `answered after ${answered.toFixed(1)} ms, ${(after / 1024).toFixed(0)} KiB still came`;
	return {
		...latencies(`echo_${where}`, echoes, 'ms'),
		[`rpc_${where}_p50`]: lower(percentile(calls, 50), 'ms'),
		[`flood_${where}`]: info(rate, 'MiB/s'),
		[`stop_${where}`]: lower(ms, 'ms', note),
	};
}

async function sample(count, deadline, measure) {
	const times = [];
	while (times.length < count && performance.now() < deadline) {
		times.push(await measure());
		await delay(BETWEEN_SAMPLES_MS);
	}
	return times;
}

async function floodHere(client) {
	const flood = client.start(uniqueId('flood'), ['cat', '/dev/zero']);
	await flood.started;
	return {count: () => flood.bytes, stop: () => stopFlood(client, flood)};
}

/** On a connection of another client process, so that the event loop of this one stays free for measuring. */
async function floodElsewhere(url) {
	const child = spawn(process.execPath, [FLOOD_CLIENT, url], {stdio: ['pipe', 'pipe', 'inherit']});
	const nextLine = lineReader(child.stdout);
	const ask = question => {
		child.stdin.write(`${question}\n`);
		return nextLine();
	};
	await nextLine();
	return {
		count: async () => Number(await ask('count')),
		stop: async () => {
			const answer = JSON.parse(await ask('stop'));
			child.stdin.end();
			return answer;
		},
	};
}

function lineReader(stream) {
	let rest = '';
	const lines = [];
	const waiting = [];
	stream.on('data', data => {
		const pieces = `${rest}${data}`.split('\n');
		rest = pieces.pop();
		for (const line of pieces) {
			const resolve = waiting.shift();
			if (resolve) resolve(line);
			else lines.push(line);
		}
	});
	return () => (lines.length > 0 ? Promise.resolve(lines.shift()) : new Promise(resolve => waiting.push(resolve)));
}
