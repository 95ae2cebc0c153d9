// covers: src/transports/node/relay/executor-streams.ts, src/transports/node/relay/failed-handshakes.ts
import {randomUUID} from 'node:crypto';
import {expect, test} from 'vitest';
import {decodeRelayFrame, encodeRelayFrame} from '../../../../src/protocol/relay/relay-frame.js';
import {encodePrologue, encodeRelayKey} from '../../../../src/protocol/relay/relay-keys.js';
import {silentLogger} from '../../../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, NoiseInitiator, type NoiseKeys, publicKeysOf} from '../../../../src/shared/noise/hybrid-ik.js';
import {
	type Admission,
	ExecutorStreams,
	type StreamCaller,
} from '../../../../src/transports/node/relay/executor-streams.js';
import {
	FailedHandshakes,
	HANDSHAKE_PAUSE_MS,
	MAX_COUNTED_KEYS,
	MAX_FAILED_HANDSHAKES,
} from '../../../../src/transports/node/relay/failed-handshakes.js';
import {RegistryError} from '../../../../src/transports/node/relay/registry-errors.js';
import {eventually} from '../../../helpers/processes.js';

const IDENTITY = {environmentId: 'devbox', registrationId: 'registration-1'};

/** Streams that ask `admit` about a client, and a client that does the handshake and is told what it is answered. */
function streamsAnd(admit: (caller: StreamCaller) => Promise<boolean>): {
	/** As this client, with the usual message or with another one. */
	shakeHands: (self?: NoiseKeys, message?: Uint8Array) => Promise<string>;
} {
	const keys = createNoiseKeys(nodeNoiseCrypto);
	const answers = new Map<string, string>();
	const socket = {
		peer: 'relay',
		backlog: 0,
		isAnswering: () => Promise.resolve(true),
		beforeFlush: (flush: () => void) => flush(),
		send: (bytes: Uint8Array) => {
			const {streamId, body} = decodeRelayFrame(bytes);
			answers.set(streamId, body.kind);
		},
	};
	const decide = async (caller: StreamCaller): Promise<Admission> => ({
		kind: (await admit(caller)) ? 'admitted' : 'stranger',
	});
	const streams = new ExecutorStreams(socket, {...IDENTITY, keys, admit: decide, accept() {}, logger: silentLogger});
	const usual = createNoiseKeys(nodeNoiseCrypto);
	const shakeHands = async (self = usual, message?: Uint8Array): Promise<string> => {
		const streamId = randomUUID();
		const initiator = new NoiseInitiator(nodeNoiseCrypto, {
			self,
			responder: publicKeysOf(keys),
			prologue: encodePrologue({...IDENTITY, streamId}),
			payload: Buffer.from('authorization'),
		});
		const body = {kind: 'handshake', payload: message ?? initiator.message} as const;
		streams.receive(encodeRelayFrame({streamId, body}));
		await eventually(() => answers.has(streamId));
		return answers.get(streamId)!;
	};
	return {shakeHands};
}

test('clients that the registry could not be asked about are no reason to refuse the next ones', async () => {
	let isDown = true;
	const {shakeHands} = streamsAnd(async () => {
		if (isDown) throw new RegistryError('the hub was started again');
		return true;
	});
	for (let failed = 0; failed < MAX_FAILED_HANDSHAKES; failed++) expect(await shakeHands()).toBe('reset');
	isDown = false;
	expect(await shakeHands()).toBe('handshake');
});

test('a key that the registry has refused many times is refused for a while, and other keys are not', async () => {
	let isKnown = false;
	let asked = 0;
	const {shakeHands} = streamsAnd(async () => {
		asked++;
		return isKnown;
	});
	for (let failed = 0; failed < MAX_FAILED_HANDSHAKES; failed++) expect(await shakeHands()).toBe('reset');
	isKnown = true;
	expect(await shakeHands()).toBe('reset');
	expect(asked).toBe(MAX_FAILED_HANDSHAKES);
	expect(await shakeHands(createNoiseKeys(nodeNoiseCrypto))).toBe('handshake');
});

test('messages that are no handshake, and strangers with a new key each, lock no client out', async () => {
	const friend = createNoiseKeys(nodeNoiseCrypto);
	const known = encodeRelayKey(publicKeysOf(friend));
	const {shakeHands} = streamsAnd(async ({key}) => JSON.stringify(key) === JSON.stringify(known));
	for (let failed = 0; failed < 2 * MAX_FAILED_HANDSHAKES; failed++) {
		expect(await shakeHands(friend, Buffer.alloc(1600, failed))).toBe('reset');
		expect(await shakeHands(createNoiseKeys(nodeNoiseCrypto))).toBe('reset');
	}
	expect(await shakeHands(friend)).toBe('handshake');
});

test('failures of a key are forgotten after the pause, and the number of counted keys is bounded', () => {
	let now = 0;
	const failures = new FailedHandshakes(() => now);
	for (let count = 1; count < MAX_FAILED_HANDSHAKES; count++) expect(failures.add('one')).toBe(false);
	expect([failures.add('one'), failures.isRefused('one'), failures.isRefused('other')]).toEqual([true, true, false]);
	now = HANDSHAKE_PAUSE_MS;
	expect(failures.isRefused('one')).toBe(false);
	for (let count = 1; count < MAX_FAILED_HANDSHAKES; count++) failures.add('other');
	for (let count = 0; count < MAX_COUNTED_KEYS; count++) failures.add(`key ${count}`);
	expect(failures.add('other')).toBe(false);
});
