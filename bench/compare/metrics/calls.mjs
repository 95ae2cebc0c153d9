import {median} from '../../lib/stats.mjs';
import {inParallel} from '../../lib/waiting.mjs';
import {higher, latencies, lower} from './values.mjs';
import {cheapCall, clientBoundNote, costed, uniqueId} from './work.mjs';

const FLIGHT = 64;
const LONG_POLL_MS = 300;
const LONG_POLLS = 5;

/** Cheap calls, one at a time and many in flight. */
export async function roundTrips(server, sizes) {
	const client = await server.connect();
	const call = await cheapCall(client);
	for (let count = 0; count < sizes.rttWarm; count++) await call();
	const {times: sequential} = await inParallel(sizes.rttSeq, 1, call);
	await inParallel(sizes.rttWarm, FLIGHT, call);
	const {result, ms, serverCpu, clientShare} = await costed(server, () => inParallel(sizes.rttPipe, FLIGHT, call));
	server.release(client);
	return {
		...latencies('seq', sequential),
		pipe64: higher(sizes.rttPipe / (ms / 1000), 'req/s', clientBoundNote(clientShare)),
		...latencies('pipe64', result.times),
		pipe64_cpu: lower((serverCpu * 1e6) / sizes.rttPipe, 'us/req'),
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
