// covers: src/transports/node/relay/executor-streams.ts
import {randomUUID} from 'node:crypto';
import {expect, test} from 'vitest';
import {decodeRelayFrame, encodeRelayFrame} from '../../../../src/protocol/relay/relay-frame.js';
import {encodePrologue} from '../../../../src/protocol/relay/relay-keys.js';
import {silentLogger} from '../../../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, NoiseInitiator, publicKeysOf} from '../../../../src/shared/noise/hybrid-ik.js';
import {
	type Admission,
	ExecutorStreams,
	MAX_FAILED_HANDSHAKES,
} from '../../../../src/transports/node/relay/executor-streams.js';
import {RegistryError} from '../../../../src/transports/node/relay/registry-errors.js';
import {eventually} from '../../../helpers/processes.js';

const IDENTITY = {environmentId: 'devbox', registrationId: 'registration-1'};

/** Streams that ask `admit` about a client, and a client that does the handshake and is told what it is answered. */
function streamsAnd(admit: () => Promise<boolean>): {shakeHands: () => Promise<string>} {
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
	const decide = async (): Promise<Admission> => ({kind: (await admit()) ? 'admitted' : 'stranger'});
	const streams = new ExecutorStreams(socket, {...IDENTITY, keys, admit: decide, accept() {}, logger: silentLogger});
	const self = createNoiseKeys(nodeNoiseCrypto);
	const shakeHands = async (): Promise<string> => {
		const streamId = randomUUID();
		const {message: payload} = new NoiseInitiator(nodeNoiseCrypto, {
			self,
			responder: publicKeysOf(keys),
			prologue: encodePrologue({...IDENTITY, streamId}),
			payload: Buffer.from('authorization'),
		});
		streams.receive(encodeRelayFrame({streamId, body: {kind: 'handshake', payload}}));
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

test('after many clients that the registry does not know new ones are refused for a while', async () => {
	let isKnown = false;
	const {shakeHands} = streamsAnd(async () => isKnown);
	for (let failed = 0; failed < MAX_FAILED_HANDSHAKES; failed++) expect(await shakeHands()).toBe('reset');
	isKnown = true;
	expect(await shakeHands()).toBe('reset');
});
