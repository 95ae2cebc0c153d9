import {nodeNoiseCrypto} from '../../../../shared/node/node-noise-crypto.js';
import {
	createNoiseKeys,
	HandshakeError,
	type InitiatorOptions,
	NoiseInitiator,
	type NoiseKeys,
	type NoisePublicKeys,
	NoiseResponder,
} from '../../../../shared/noise/hybrid-ik.js';
import type {ChannelKeys} from '../../../../shared/noise/symmetric-state.js';

/** Private keys of one end. */
export interface SeedPair {
	readonly dh: Uint8Array;
	readonly kem: Uint8Array;
}

/** The first message of an initiator. With all its randomness it can be made again, so that no thread has to remember it. */
interface Beginning extends Pick<InitiatorOptions, 'responder' | 'prologue' | 'payload'> {
	readonly self: SeedPair;
	readonly seeds: SeedPair & {readonly skem: Uint8Array};
}

/** Part of a handshake that a thread does. */
export type HandshakeWork =
	| {readonly kind: 'respond'; readonly self: SeedPair; readonly prologue: Uint8Array; readonly message: Uint8Array}
	| ({readonly kind: 'begin'} & Beginning)
	| ({readonly kind: 'finish'; readonly answer: Uint8Array} & Beginning);

export type HandshakeResult =
	| {
			readonly kind: 'responded';
			readonly initiator: NoisePublicKeys;
			readonly payload: Uint8Array;
			readonly answer: {readonly message: Uint8Array; readonly keys: ChannelKeys};
	  }
	| {readonly kind: 'begun'; readonly message: Uint8Array}
	| {readonly kind: 'finished'; readonly keys: ChannelKeys}
	/** The peer's message is not one for us. */
	| {readonly kind: 'refused'};

export function doHandshakeWork(work: HandshakeWork): HandshakeResult {
	try {
		return work.kind === 'respond' ? respond(work) : initiate(work);
	} catch (error) {
		if (error instanceof HandshakeError) return {kind: 'refused'};
		throw error;
	}
}

function respond({self, prologue, message}: HandshakeWork & {kind: 'respond'}): HandshakeResult {
	const responder = new NoiseResponder(nodeNoiseCrypto, {self: keysOf(self), prologue, message});
	const {initiator, payload} = responder;
	return {kind: 'responded', initiator, payload, answer: responder.answerWithKeys()};
}

function initiate(work: HandshakeWork & {kind: 'begin' | 'finish'}): HandshakeResult {
	const initiator = new NoiseInitiator(nodeNoiseCrypto, {...work, self: keysOf(work.self)});
	if (work.kind === 'begin') return {kind: 'begun', message: initiator.message};
	return {kind: 'finished', keys: initiator.finishWithKeys(work.answer)};
}

let known: {readonly self: SeedPair; readonly keys: NoiseKeys} | undefined;

/** Keys of the last end that was asked for are kept: there is one in most programs. */
function keysOf(self: SeedPair): NoiseKeys {
	const isKnown = known !== undefined && isSame(known.self.dh, self.dh) && isSame(known.self.kem, self.kem);
	if (!isKnown) known = {self, keys: createNoiseKeys(nodeNoiseCrypto, self)};
	return known!.keys;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
	return Buffer.compare(one, other) === 0;
}
