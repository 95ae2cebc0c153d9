import {MIB} from '../../lib/measure.mjs';
import {delay, inParallel} from '../../lib/waiting.mjs';
import {deliveryFaults, higher, info, latencies, lower} from './values.mjs';
import {cheapCall, cost, costed, runToEnd, uniqueId, zeros} from './work.mjs';

const BEFORE_MS = 100;
const SAMPLE_MS = 25;
const STALLED_MS = 300;
const BETWEEN_CALLS_MS = 5;
/** Every so many calls a process is started beside them. */
const CALLS_PER_SPAWN = 20;
const RETENTION_FLIGHT = 8;
/** Growth of nothing would have no ratio. */
const MIN_GROWTH_MIB = 0.1;

/** A client that stops reading while a process prints: memory, and service on another connection. */
export async function slowConsumer(server, {slowMiB, slowMs}) {
	const reader = await server.connect();
	const other = server.isShared ? await server.connect() : undefined;
	const call = other && (await cheapCall(other));
	await delay(BEFORE_MS);
	const rssBefore = server.rssTree();
	let peak = rssBefore;
	const sampler = setInterval(() => {
		peak = Math.max(peak, server.rssTree());
	}, SAMPLE_MS);
	const values = {};
	try {
		const flood = reader.start(uniqueId('slow'), zeros(slowMiB));
		await flood.started;
		reader.pause();
		const before = flood.bytes;
		const {times, spawned} = await useOther(other, call, slowMs);
		const cpuBefore = server.cpu();
		await delay(STALLED_MS);
		const cpuShare = (server.cpu() - cpuBefore) / (STALLED_MS / 1000);
		const {ms, serverCpu} = await costed(server, () => {
			reader.resume();
			return flood.done;
		});
		if (times.length > 0) Object.assign(values, latencies('other_rtt', times), {other_spawns: info(spawned, 'ok')});
		values.rss_growth = lower(Math.max(MIN_GROWTH_MIB, peak - rssBefore), 'MiB');
		values.peak = lower(Math.max(peak, server.peakMain()), 'MiB');
		values.cpu_while_stalled = info(cpuShare * 100, '%cpu');
		const mebibytes = (flood.bytes - before) / MIB;
		values.resume = higher(mebibytes / (ms / 1000), 'MiB/s');
		values.resume_cpu = cost(serverCpu, mebibytes, 'ms/MiB');
		values.lost = info(slowMiB * MIB - flood.bytes, 'bytes');
		Object.assign(values, deliveryFaults('slow', flood, slowMiB * MIB));
	} finally {
		clearInterval(sampler);
	}
	if (other) server.release(other);
	server.release(reader);
	return values;
}

/** Calls and a few processes on another connection, if there may be one, for so long. */
async function useOther(other, call, forMs) {
	const times = [];
	let spawned = 0;
	const end = performance.now() + forMs;
	while (performance.now() < end) {
		if (other) {
			const began = performance.now();
			await call();
			times.push(performance.now() - began);
			if (times.length % CALLS_PER_SPAWN === 0) {
				await runToEnd(other, 't', ['/bin/true']);
				spawned++;
			}
		}
		await delay(BETWEEN_CALLS_MS);
	}
	return {times, spawned};
}

/** Memory that finished processes leave behind: many that print a mebibyte each. */
export async function retention(server, {retain}) {
	const client = await server.connect();
	await delay(BEFORE_MS);
	const rssBefore = server.rssTree();
	const {ms} = await inParallel(retain, RETENTION_FLIGHT, async () => {
		const {bytes} = await runToEnd(client, 'r', zeros(1));
		if (bytes !== MIB) throw new Error(`got ${bytes} bytes`);
	});
	const values = {
		rss_growth: lower(Math.max(MIN_GROWTH_MIB, server.rssTree() - rssBefore), 'MiB'),
		peak: lower(server.peakMain(), 'MiB'),
		rate: higher(retain / (ms / 1000), 'proc/s'),
	};
	server.release(client);
	return values;
}
