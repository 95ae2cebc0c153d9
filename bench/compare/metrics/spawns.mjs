import {percentile} from '../../lib/stats.mjs';
import {inParallel} from '../../lib/waiting.mjs';
import {higher, latencies, lower} from './values.mjs';
import {cost, costed, runToEnd, uniqueId} from './work.mjs';

const TRUE = ['/bin/true'];
const WARM_UP_STARTS = 10;
const WARM_UP_BURST = 40;
/** Even when the time box is over. */
const MIN_SAMPLES = 20;

/** `process/start` to `process/closed`, and to the response. */
export async function spawnLatency(server, sizes) {
	const client = await server.connect();
	const values = {};
	for (const [name, tty, count] of [
		['pipe', false, sizes.spawnN],
		['pty', true, sizes.spawnTty],
	]) {
		try {
			const {result, serverCpu} = await costed(server, () => timeSpawns(client, {tty, count, boxMs: sizes.boxMs}));
			const {closed, responses} = result;
			Object.assign(values, latencies(name, closed), {
				[`${name}_cpu`]: cost(serverCpu, closed.length + WARM_UP_STARTS, 'us/proc'),
				[`${name}_response_p50`]: lower(percentile(responses, 50) * 1000, 'us'),
			});
		} catch (error) {
			values[`${name}_p50`] = lower(Number.NaN, 'us', error.message);
		}
	}
	server.release(client);
	return values;
}

async function timeSpawns(client, {tty, count, boxMs}) {
	const closed = [];
	const responses = [];
	const end = performance.now() + boxMs;
	for (
		let index = -WARM_UP_STARTS;
		index < count && (performance.now() < end || closed.length < MIN_SAMPLES);
		index++
	) {
		const began = performance.now();
		const spawned = client.start(uniqueId('t'), TRUE, {tty});
		await spawned.started;
		const responded = performance.now();
		await spawned.done;
		if (index < 0) continue;
		closed.push(performance.now() - began);
		responses.push(responded - began);
	}
	return {closed, responses};
}

export async function spawnThroughput(server, sizes) {
	const client = await server.connect();
	const spawnOne = () => runToEnd(client, 't', TRUE);
	await inParallel(WARM_UP_BURST, sizes.burstFlight, spawnOne);
	const {result, ms, serverCpu} = await costed(server, () => inParallel(sizes.burst, sizes.burstFlight, spawnOne));
	server.release(client);
	return {
		rate: higher(sizes.burst / (ms / 1000), 'proc/s'),
		...latencies('each', result.times, 'ms'),
		rate_cpu: cost(serverCpu, sizes.burst, 'us/proc'),
	};
}
