import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {percentile} from '../../lib/stats.mjs';
import {delay, inParallel} from '../../lib/waiting.mjs';
import {uriOf} from './files.mjs';
import {lower} from './values.mjs';
import {cheapCall, cost, costed, uniqueId} from './work.mjs';

const SLEEP = ['sleep', '60'];
const BEFORE_MS = 100;
const SETTLE_MS = 200;
const CALLS = 300;
const FLIGHT = 64;
const CONNECTS_IN_FLIGHT = 16;
const TERMINALS_IN_FLIGHT = 16;
const MAX_SERVICE_MS = 3000;
const MAX_STOP_MS = 8000;

/** Idle processes, then idle connections. */
export async function scale(server, sizes) {
	return {
		...(await idleProcesses(server, sizes)),
		...(server.isShared ? await idleConnections(server, sizes.conns) : {}),
	};
}

async function idleProcesses(server, {idle, idleMs}) {
	const values = {};
	const client = await server.connect();
	await delay(BEFORE_MS);
	const rssBefore = server.rssTree();
	const threadsBefore = server.threads();
	const start = () => startIdle(client, {count: idle, flight: FLIGHT, tag: 's'});
	const {result: processes, ms, serverCpu} = await costed(server, start);
	values.start_all = lower(ms, 'ms');
	values.start_all_cpu = cost(serverCpu, idle, 'us/proc');
	await delay(SETTLE_MS);
	values.rss_per_proc = lower(((server.rssTree() - rssBefore) * 1024) / idle, 'KiB');
	const main = server.rssMain().toFixed(0);
	const note = `main ${main} MiB, ${server.threads()} threads (${threadsBefore} before), ${server.descriptors()} fds`;
	values.rss_with_procs = lower(server.rssTree(), 'MiB', note);
	const cpuBefore = server.cpuTree();
	await delay(idleMs);
	values.idle_cpu = lower(((server.cpuTree() - cpuBefore) / (idleMs / 1000)) * 100, '%cpu');
	const {times} = await inParallel(CALLS, 1, await cheapCall(client));
	values.rtt_with_procs_p50 = lower(percentile(times, 50) * 1000, 'us');
	const stopped = await costed(server, async () => {
		await terminateAll(client, processes);
		await Promise.all(processes.map(({done}) => done));
	});
	values.stop_all = lower(stopped.ms, 'ms');
	values.stop_all_cpu = cost(stopped.serverCpu, idle, 'us/proc');
	server.release(client);
	return values;
}

async function startIdle(client, {count, flight, tag, tty}) {
	const processes = [];
	await inParallel(count, flight, async () => {
		const idle = client.start(uniqueId(tag), SLEEP, {tty});
		processes.push(idle);
		await idle.started;
	});
	return processes;
}

function terminateAll(client, processes) {
	return inParallel(processes.length, FLIGHT, index => client.terminate(processes[index].id));
}

async function idleConnections(server, count) {
	await delay(BEFORE_MS);
	const rssBefore = server.rssTree();
	const clients = [];
	const connectOne = async () => void clients.push(await server.connect());
	const {ms, serverCpu} = await costed(server, () => inParallel(count, CONNECTS_IN_FLIGHT, connectOne));
	await delay(SETTLE_MS);
	const rss = server.rssTree();
	for (const client of clients) server.release(client);
	return {
		connect_all: lower(ms, 'ms'),
		connect_all_cpu: cost(serverCpu, count, 'us/conn'),
		rss_per_conn: lower(((rss - rssBefore) * 1024) / count, 'KiB'),
		rss_with_conns: lower(rss, 'MiB'),
	};
}

/** Many idle terminals, and whether files and one more terminal are still served beside them. */
export async function scaleTerminals(server, {idlePty}, {scratch}) {
	const client = await server.connect();
	const rssBefore = server.rssTree();
	const threadsBefore = server.threads();
	const file = join(scratch, 'one');
	writeFileSync(file, 'x');
	const start = () => startIdle(client, {count: idlePty, flight: TERMINALS_IN_FLIGHT, tag: 'y', tty: true});
	const {result: processes, ms, serverCpu} = await costed(server, start);
	const values = {start_all: lower(ms, 'ms'), start_all_cpu: cost(serverCpu, idlePty, 'us/proc')};
	await delay(SETTLE_MS);
	const threads = `${server.threads()} threads (${threadsBefore} before)`;
	values.rss_per_pty = lower(((server.rssTree() - rssBefore) * 1024) / idlePty, 'KiB', threads);

	const readMs = await timed(client.call('fs/readFile', {path: uriOf(file), sandbox: null}), MAX_SERVICE_MS);
	values.fs_while_open = msOr(readMs, 'no answer in 3 s');
	if (Number.isNaN(readMs)) {
		values.pty_while_open = msOr(Number.NaN, 'not reached');
		values.stop_all = msOr(Number.NaN, 'not reached');
	} else {
		const extra = client.start(uniqueId('y'), ['/bin/echo', 'x'], {tty: true});
		const shown = await timed(extra.done, MAX_SERVICE_MS);
		values.pty_while_open = msOr(shown, 'an extra terminal showed nothing for 3 s');
		const stopped = await costed(server, async () => {
			await terminateAll(client, processes);
			return timed(Promise.all(processes.map(({done}) => done)), MAX_STOP_MS);
		});
		values.stop_all = msOr(Number.isNaN(stopped.result) ? Number.NaN : stopped.ms, 'not all closed after 8 s');
		values.stop_all_cpu = cost(stopped.serverCpu, idlePty, 'us/proc');
	}
	server.release(client);
	return values;
}

function msOr(ms, note) {
	return lower(ms, 'ms', Number.isNaN(ms) ? note : undefined);
}

/** Milliseconds until the promise settles; NaN when that takes too long. */
async function timed(promise, maxMs) {
	const began = performance.now();
	const isLate = await Promise.race([promise.then(() => false), delay(maxMs, true, {ref: false})]);
	return isLate ? Number.NaN : performance.now() - began;
}
