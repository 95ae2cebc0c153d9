// covers: src/hub/access/hub-access.ts, src/hub/access/rate-limit.ts
// Limits of a hub and the attempts that clients make when their executor cannot be reached.
import {expect, test, vi} from 'vitest';
import {RECOVERY_BUDGET_MS, RETRY_INTERVAL_MS} from '../../src/client/session/recovery.js';
import {ADDRESS_RATE, TOKEN_RATE} from '../../src/hub/access/hub-access.js';
import {RateLimit, type RequestRate} from '../../src/hub/access/rate-limit.js';
import {encodeRelayKey, type RelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import type {RegistryError} from '../../src/transports/node/relay/registry-errors.js';
import {stopClock} from '../helpers/clock.js';
import {runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {clientRegistry, scriptedExecutor} from '../helpers/relay-peers.js';

/** Seconds at which a client of codex 0.169 sends `connect`, recorded while the hub answered that the executor is offline. */
const CODEX_TIMES = {
	'at its start': [0, 0.62, 1.83, 4.04, 9.89, 9.93, 10.45, 11.95, 14.61, 19.53],
	'in a recovery': [0, 0.6, 1.6, 4.4, 9, 14.6, 20.5, 27.8, 34.8, 41.8],
} as const;
/** Our own clients, and those of codex at a gateway, try again at this interval. */
const POLLING_TIMES = Array.from(
	{length: RECOVERY_BUDGET_MS / RETRY_INTERVAL_MS},
	(_, attempt) => (attempt * RETRY_INTERVAL_MS) / 1000,
);

/** Requests that a limit refuses when so many clients make attempts at these seconds, all of them at once. */
function countRefused(rate: RequestRate, clients: number, seconds: readonly number[]): number {
	let now = 0;
	const limit = new RateLimit(rate, () => now);
	let refused = 0;
	for (const at of seconds) {
		now = at * 1000;
		for (let client = 0; client < clients; client++) if (!limit.take('one')) refused++;
	}
	return refused;
}

test.each(Object.entries(CODEX_TIMES))('500 clients of codex with one token are never refused %s', (_when, seconds) => {
	expect(countRefused(TOKEN_RATE, 500, seconds)).toBe(0);
	expect(countRefused(ADDRESS_RATE, 1000, seconds)).toBe(0);
});

test('28 clients with one token, and 56 of one address, are never refused while they try every 100 ms', () => {
	expect(countRefused(TOKEN_RATE, 28, POLLING_TIMES)).toBe(0);
	expect(countRefused(ADDRESS_RATE, 56, POLLING_TIMES)).toBe(0);
});

test.each(Object.entries(CODEX_TIMES))(
	'a hub answers every attempt of ten clients of codex with one token %s',
	async (_when, seconds) => {
		stopClock();
		const hub = await runningHub();
		const executor = await scriptedExecutor(hub, 'devbox');
		const clients = Array.from({length: 10}, () => encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto))));
		const connect = async (key: RelayKey): Promise<number | undefined> => {
			try {
				await clientRegistry(hub, 'devbox').connect(key);
				return 200;
			} catch (error) {
				return (error as RegistryError).status;
			}
		};
		const connectAll = async (): Promise<Set<unknown>> => new Set(await Promise.all(clients.map(connect)));
		executor.socket.terminate();
		await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
		let elapsed = 0;
		for (const at of seconds) {
			await vi.advanceTimersByTimeAsync((at - elapsed) * 1000);
			elapsed = at;
			expect(await connectAll()).toEqual(new Set([409]));
		}
		await scriptedExecutor(hub, 'devbox');
		expect(await connectAll()).toEqual(new Set([200]));
	},
);
