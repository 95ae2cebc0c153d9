// covers: src/transports/node/relay/executor-back-off.ts, src/transports/node/relay/executor-link.ts
import {expect, onTestFinished, test, vi} from 'vitest';
import {encodeRelayKey} from '../../../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../../../src/shared/noise/hybrid-ik.js';
import {
	ExecutorBackOff,
	FIRST_BACKOFF_MS,
	MAX_BACKOFF_MS,
	MAX_REOPENING_BACKOFF_MS,
} from '../../../../src/transports/node/relay/executor-back-off.js';
import {runningExecutor, runningHub} from '../../../helpers/hubs.js';
import {eventually} from '../../../helpers/processes.js';
import {executorRegistry} from '../../../helpers/relay-peers.js';

/** The pauses that executors of this test make. */
function watchedPauses(): () => number[] {
	const spy = vi.spyOn(ExecutorBackOff.prototype, 'next');
	onTestFinished(() => spy.mockRestore());
	return () => spy.mock.results.map(({value}) => value as number);
}

const within = (pause: number, longest: number): boolean => pause >= longest / 2 && pause <= longest;

test('pauses grow while a relay cannot be reached, stay short while its sockets break, and begin anew with a client', () => {
	const backOff = new ExecutorBackOff();
	expect(within(backOff.next(), FIRST_BACKOFF_MS)).toBe(true);
	for (let failed = 0; failed < 10; failed++) backOff.next();
	expect(within(backOff.next(), MAX_BACKOFF_MS)).toBe(true);
	for (let broken = 0; broken < 5; broken++) {
		backOff.lost();
		expect(within(backOff.next(), MAX_REOPENING_BACKOFF_MS)).toBe(true);
	}
	backOff.served();
	expect(within(backOff.next(), FIRST_BACKOFF_MS)).toBe(true);
});

test('an executor whose socket breaks again and again before a client is in comes back soon each time', async () => {
	const pauses = watchedPauses();
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	for (let cuts = 0; cuts < 6; cuts++) {
		await eventually(() => hub.hub.relay.findExecutor('devbox') !== undefined);
		hub.hub.relay.findExecutor('devbox')!.socket.destroy(new Error('cut'));
		await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
	}
	await eventually(() => hub.hub.relay.findExecutor('devbox') !== undefined);
	expect(pauses().length).toBe(6);
	expect(Math.max(...pauses())).toBeLessThanOrEqual(MAX_REOPENING_BACKOFF_MS);
});

test('a ticket that was good and is refused is replaced at once', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const pauses = watchedPauses();
	const first = hub.hub.relay.findExecutor('devbox')!.registrationId;
	// Another key takes the place of the executor, whose ticket is good no longer, and never comes.
	const other = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
	await executorRegistry(hub, 'devbox').register(other);
	await eventually(() => (hub.hub.relay.findExecutor('devbox')?.registrationId ?? first) !== first);
	// After the loss of the socket, and not after the refusal of the ticket.
	expect(pauses().length).toBe(1);
});
