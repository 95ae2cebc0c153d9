// Timers of a server, measured from outside: each probe touches its own session or process once, because a touch may extend a lifetime.
import {setTimeout as sleep} from 'node:timers/promises';
import {until} from '../child.mjs';
import {RawClient} from './raw-client.mjs';
import {roundestBetween} from './rounding.mjs';

const MAX_LIFETIME_MS = 150_000;
const PROBE_INTERVAL_MS = 1000;
/** Probes are sent between full seconds: timers expire at full seconds. */
const PROBE_OFFSET_MS = 500;
/** Failed probes in a row that end a measurement. */
const ENOUGH_FAILURES = 3;
const MAX_PING_WAIT_MS = 90_000;

/** Measures how long a session can be resumed after its connection was lost. */
export async function measureSessionLifetime(url) {
	const sessions = [];
	for (let index = 0; index < MAX_LIFETIME_MS / PROBE_INTERVAL_MS; index++) {
		const client = await RawClient.connect(url);
		const {result} = await client.greet();
		client.drop();
		sessions.push({id: result.sessionId, endedAt: performance.now()});
	}
	return measureLifetime(sessions, async ({id}) => {
		const client = await RawClient.connect(url);
		const {result} = await client.greet(id);
		client.drop();
		return result !== undefined;
	});
}

/** Measures how long a closed process can be read. */
export async function measureProcessRetention(url) {
	const client = await RawClient.connect(url);
	await client.greet();
	const processes = [];
	for (let index = 0; index < MAX_LIFETIME_MS / PROBE_INTERVAL_MS; index++) {
		const id = `closed-${index}`;
		await client.call('process/start', {
			processId: id,
			argv: ['true'],
			cwd: 'file:///',
			env: {PATH: process.env.PATH},
			tty: false,
		});
		await until(`the end of ${id}`, () => isClosed(client, id));
		processes.push({id, endedAt: performance.now()});
	}
	const lifetime = await measureLifetime(processes, async ({id}) => {
		const {result} = await client.call('process/read', {processId: id});
		return result !== undefined;
	});
	client.drop();
	return lifetime;
}

/** Measures the time between two pings of the server; undefined if it sends none. */
export async function measurePingInterval(url) {
	const client = await RawClient.connect(url);
	await client.greet();
	const giveUpAt = performance.now() + MAX_PING_WAIT_MS;
	while (client.pings.length < 2 && performance.now() < giveUpAt) await sleep(PROBE_INTERVAL_MS);
	client.drop();
	const [first, second] = client.pings;
	if (second === undefined) return null;
	return roundestBetween(second - first - PROBE_OFFSET_MS, second - first + PROBE_OFFSET_MS);
}

/** Returns whether the server has reported the end of a process. */
export function isClosed(client, processId) {
	return client.received.some(({method, params}) => method === 'process/closed' && params.processId === processId);
}

/** Probes thing after thing, each later than the one before it, until several in a row are gone. */
async function measureLifetime(things, isAlive) {
	let low = 0;
	let high = Number.POSITIVE_INFINITY;
	let failures = 0;
	for (const [index, thing] of things.entries()) {
		await sleep(Math.max(0, thing.endedAt + index * PROBE_INTERVAL_MS + PROBE_OFFSET_MS - performance.now()));
		const askedAfter = performance.now() - thing.endedAt;
		if (await isAlive(thing)) {
			low = Math.max(low, askedAfter);
			failures = 0;
		} else {
			high = Math.min(high, performance.now() - thing.endedAt);
			if (++failures === ENOUGH_FAILURES) break;
		}
	}
	if (!Number.isFinite(high)) throw new Error(`the lifetime is longer than ${MAX_LIFETIME_MS} ms`);
	return roundestBetween(low, high);
}
