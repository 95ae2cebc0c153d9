// covers: src/shared/noise, src/shared/node/node-noise-crypto.ts, src/protocol/relay/relay-keys.ts
import {readFileSync} from 'node:fs';
import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {decodeRelayKey, encodePrologue, encodeRelayKey} from '../../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../../src/shared/node/node-noise-crypto.js';
import {
	createNoiseKeys,
	HandshakeError,
	NoiseInitiator,
	type NoiseKeys,
	NoiseResponder,
	publicKeysOf,
} from '../../../src/shared/noise/hybrid-ik.js';
import type {NoiseCrypto} from '../../../src/shared/noise/noise-crypto.js';
import {portableNoiseCrypto} from '../../../src/shared/noise/portable-noise-crypto.js';

interface Vectors {
	readonly seeds: Record<string, string>;
	readonly ids: {readonly environmentId: string; readonly registrationId: string; readonly streamId: string};
	readonly payload: string;
	readonly prologue: string;
	readonly initiatorPublicKey: object;
	readonly responderPublicKey: object;
	readonly message1: string;
	readonly message2: string;
	readonly handshakeHash: string;
	readonly records: Record<'harness0' | 'harness1' | 'executor0', string>;
}

const vectors = JSON.parse(
	readFileSync(new URL('../../vectors/registry-vectors.json', import.meta.url), 'utf8'),
) as Vectors;
const CRYPTOS: readonly (readonly [string, NoiseCrypto])[] = [
	['node', nodeNoiseCrypto],
	['portable', portableNoiseCrypto],
];

const hex = (text: string): Uint8Array => Buffer.from(text, 'hex');
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const seed = (name: string): Uint8Array => hex(vectors.seeds[name]!);

function keysOf(crypto: NoiseCrypto, end: 'initiator' | 'responder'): NoiseKeys {
	return createNoiseKeys(crypto, {dh: seed(`${end}StaticX25519`), kem: seed(`${end}StaticMlKem`)});
}

function begin(crypto: NoiseCrypto): NoiseInitiator {
	return new NoiseInitiator(crypto, {
		self: keysOf(crypto, 'initiator'),
		responder: publicKeysOf(keysOf(crypto, 'responder')),
		prologue: encodePrologue(vectors.ids),
		payload: Buffer.from(vectors.payload),
		seeds: {
			dh: seed('initiatorEphemeralX25519'),
			kem: seed('initiatorEphemeralMlKem'),
			skem: seed('message1SkemRandomness'),
		},
	});
}

function respond(crypto: NoiseCrypto, message: Uint8Array, prologue = encodePrologue(vectors.ids)): NoiseResponder {
	return new NoiseResponder(crypto, {
		self: keysOf(crypto, 'responder'),
		prologue,
		message,
		seeds: {
			dh: seed('responderEphemeralX25519'),
			kem: seed('responderEphemeralMlKem'),
			ekem: seed('message2EkemRandomness'),
			skem: seed('message2SkemRandomness'),
		},
	});
}

describe.each(CRYPTOS)('a handshake (%s)', (_name, crypto) => {
	test('gives the recorded keys, messages, hash and records byte for byte', () => {
		expect(toHex(encodePrologue(vectors.ids))).toBe(vectors.prologue);
		expect(encodeRelayKey(publicKeysOf(keysOf(crypto, 'initiator')))).toEqual(vectors.initiatorPublicKey);
		expect(encodeRelayKey(publicKeysOf(keysOf(crypto, 'responder')))).toEqual(vectors.responderPublicKey);
		const initiator = begin(crypto);
		expect(toHex(initiator.message)).toBe(vectors.message1);
		const responder = respond(crypto, initiator.message);
		expect(Buffer.from(responder.payload).toString()).toBe(vectors.payload);
		expect(encodeRelayKey(responder.initiator)).toEqual(vectors.initiatorPublicKey);
		const {message, ciphers} = responder.answer();
		expect(toHex(message)).toBe(vectors.message2);
		const own = initiator.finish(message);
		expect([toHex(own.handshakeHash), toHex(ciphers.handshakeHash)]).toEqual([
			vectors.handshakeHash,
			vectors.handshakeHash,
		]);
		const sent = ciphers.receive.open(hex(vectors.records.harness0));
		expect(toHex(own.send.seal(sent))).toBe(vectors.records.harness0);
		const next = ciphers.receive.open(hex(vectors.records.harness1));
		expect(toHex(own.send.seal(next))).toBe(vectors.records.harness1);
		const answer = own.receive.open(hex(vectors.records.executor0));
		expect(toHex(ciphers.send.seal(answer))).toBe(vectors.records.executor0);
	});

	test('fails for a message that was altered anywhere, cut short or made longer', () => {
		const {message} = begin(crypto);
		const altered = fc.tuple(fc.nat(message.length - 1), fc.integer({min: 1, max: 255}));
		fc.assert(
			fc.property(altered, ([at, bits]) => {
				const copy = Uint8Array.from(message);
				copy[at]! ^= bits;
				expect(() => respond(crypto, copy)).toThrow(HandshakeError);
			}),
			{numRuns: 40},
		);
		for (const end of [0, 1, 1088, message.length - 1]) {
			expect(() => respond(crypto, message.subarray(0, end))).toThrow(HandshakeError);
		}
		expect(() => respond(crypto, Buffer.concat([message, Buffer.of(0)]))).toThrow(HandshakeError);
	});

	test('fails in another stream, registration or environment', () => {
		const {message} = begin(crypto);
		for (const other of [{streamId: 'stream-2'}, {registrationId: 'registration-2'}, {environmentId: 'env-2'}]) {
			expect(() => respond(crypto, message, encodePrologue({...vectors.ids, ...other}))).toThrow(HandshakeError);
		}
	});

	test('fails for an answer that was altered anywhere', () => {
		const answer = hex(vectors.message2);
		fc.assert(
			fc.property(fc.nat(answer.length - 1), at => {
				const copy = Uint8Array.from(answer);
				copy[at]! ^= 1;
				expect(() => begin(crypto).finish(copy)).toThrow(HandshakeError);
			}),
			{numRuns: 25},
		);
	});
});

test('ends with different cryptography understand each other, and a repeated or lost record is refused', () => {
	const self = createNoiseKeys(nodeNoiseCrypto);
	const other = createNoiseKeys(portableNoiseCrypto);
	const prologue = encodePrologue(vectors.ids);
	const initiator = new NoiseInitiator(nodeNoiseCrypto, {
		self,
		responder: publicKeysOf(other),
		prologue,
		payload: Buffer.from('admit me'),
	});
	const {message, ciphers} = new NoiseResponder(portableNoiseCrypto, {
		self: other,
		prologue,
		message: initiator.message,
	}).answer();
	const own = initiator.finish(message);
	const first = own.send.seal(Buffer.from('one'));
	expect(Buffer.from(ciphers.receive.open(first)).toString()).toBe('one');
	expect(() => ciphers.receive.open(first)).toThrow('invalid tag');
});

test('a public key that is not one is refused with the reason', () => {
	const key = encodeRelayKey(publicKeysOf(keysOf(nodeNoiseCrypto, 'initiator')));
	expect(encodeRelayKey(decodeRelayKey(key))).toEqual(key);
	for (const [change, reason] of [
		[{suite: 'Noise_IK'}, 'unsupported Noise channel suite'],
		[{x25519_public_key: 'AAAA'}, 'invalid X25519 public key length'],
		[{mlkem768_public_key: key.x25519_public_key}, 'invalid ML-KEM-768 public key length'],
		[{mlkem768_public_key: '?'}, 'invalid ML-KEM-768 public key encoding'],
		[{x25519_public_key: 7}, 'invalid X25519 public key'],
		[{extra: true}, 'unknown field `extra`'],
	] as const) {
		expect(() => decodeRelayKey({...key, ...change})).toThrow(`invalid Noise channel public key: ${reason}`);
	}
});
