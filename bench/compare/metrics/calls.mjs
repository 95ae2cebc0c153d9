import {median} from '../../lib/stats.mjs';
import {inParallel} from '../../lib/waiting.mjs';
import {higher, latencies, lower} from './values.mjs';
import {cheapCall, clientBoundNote, cost, costed, uniqueId} from './work.mjs';

const FLIGHT = 64;
const LONG_POLL_MS = 300;
const LONG_POLLS = 5;

/** Cheap calls, one at a time and many in flight; again on a server that has answered many. */
export async function roundTrips(server, sizes) {
	const client = await server.connect();
	const call = await cheapCall(client);
	for (let count = 0; count < sizes.rttWarm; count++) await call();
	const values = {
		...(await oneByOne(server, call, {name: 'seq', count: sizes.rttSeq})),
		...(await manyAtOnce(server, call, {name: 'pipe64', count: sizes.rttPipe, warmUp: sizes.rttWarm})),
	};
	await inParallel(sizes.warmCalls, 1, call);
	Object.assign(values, await oneByOne(server, call, {name: 'seq_warm', count: sizes.rttSeq}));
	server.release(client);
	return values;
}

async function oneByOne(server, call, {name, count}) {
	const {result, serverCpu} = await costed(server, () => inParallel(count, 1, call));
	return {...latencies(name, result.times), [`${name}_cpu`]: cost(serverCpu, count, 'us/req')};
}

async function manyAtOnce(server, call, {name, count, warmUp}) {
	await inParallel(warmUp, FLIGHT, call);
	const {result, ms, serverCpu, clientShare} = await costed(server, () => inParallel(count, FLIGHT, call));
	return {
		[name]: higher(count / (ms / 1000), 'req/s', clientBoundNote(clientShare)),
		...latencies(name, result.times),
		[`${name}_cpu`]: cost(serverCpu, count, 'us/req'),
	};
}

/** Whether a slow request holds up the others of its connection: a long poll of a silent process, then a cheap call. */
export async function headOfLine(server) {
	const client = await server.connect();
	const call = await cheapCall(client);
	const silent = client.start(uniqueId('quiet'), ['sleep', '30']);
	await silent.started;
	const times = [];
	const values = {};
	try {
		for (let count = 0; count < LONG_POLLS; count++) {
			const poll = {processId: silent.id, afterSeq: null, maxBytes: null, waitMs: LONG_POLL_MS};
			const slow = client.call('process/read', poll);
			const began = performance.now();
			await call();
			times.push(performance.now() - began);
			await slow;
		}
		values.cheap_call = lower(median(times), 'ms');
	} catch (error) {
		values.cheap_call = lower(Number.NaN, 'ms', error.message);
	}
	await client.terminate(silent.id);
	await silent.done;
	server.release(client);
	return values;
}
