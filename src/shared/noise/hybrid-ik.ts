// Noise with the hybrid pattern IK, X25519 beside ML-KEM-768:
//   <- s
//   ...
//   -> skem, e, es, s, ss
//   <- ekem, skem, e, ee, se
import {
	DH_KEY_BYTES,
	type DhKeys,
	KEM_CIPHERTEXT_BYTES,
	KEM_KEY_BYTES,
	type KemKeys,
	type NoiseCrypto,
	TAG_BYTES,
} from './noise-crypto.js';
import {type ChannelCiphers, type ChannelKeys, SymmetricState, toChannelCiphers} from './symmetric-state.js';

const PROTOCOL_NAME = 'Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256';
/** Longest message of a handshake. */
export const MAX_HANDSHAKE_BYTES = 65_535;
const NOTHING: Uint8Array = new Uint8Array(0);

/** Public halves of an identity or of an ephemeral pair. */
export interface NoisePublicKeys {
	readonly dh: Uint8Array;
	readonly kem: Uint8Array;
}

/** Both key pairs of one end. */
export interface NoiseKeys {
	readonly dh: DhKeys;
	readonly kem: KemKeys;
}

/** Fixed randomness of an initiator, for test vectors. */
export interface InitiatorSeeds {
	readonly dh?: Uint8Array | undefined;
	readonly kem?: Uint8Array | undefined;
	readonly skem?: Uint8Array | undefined;
}

/** The same of a responder. */
export interface ResponderSeeds extends InitiatorSeeds {
	readonly ekem?: Uint8Array | undefined;
}

/** A handshake failed: altered, cut short, or meant for another key, environment or stream. */
export class HandshakeError extends Error {
	override readonly name = 'HandshakeError';
}

export function createNoiseKeys(crypto: NoiseCrypto, seeds: {dh?: Uint8Array; kem?: Uint8Array} = {}): NoiseKeys {
	return {dh: crypto.createDhKeys(seeds.dh), kem: crypto.createKemKeys(seeds.kem)};
}

export function publicKeysOf({dh, kem}: NoiseKeys): NoisePublicKeys {
	return {dh: dh.publicBytes, kem: kem.publicBytes};
}

export interface InitiatorOptions {
	readonly self: NoiseKeys;
	/** Key of the only responder that can answer. */
	readonly responder: NoisePublicKeys;
	/** Facts both ends have to agree on. */
	readonly prologue: Uint8Array;
	/** Sent encrypted with the first message. */
	readonly payload: Uint8Array;
	readonly seeds?: InitiatorSeeds | undefined;
}

/** The end that knows the other one's key, and begins. */
export class NoiseInitiator {
	readonly message: Uint8Array;
	readonly #crypto: NoiseCrypto;
	readonly #state: SymmetricState;
	readonly #self: NoiseKeys;
	readonly #ephemeral: NoiseKeys;

	constructor(crypto: NoiseCrypto, {self, responder, prologue, payload, seeds = {}}: InitiatorOptions) {
		const state = startState(crypto, prologue, responder);
		const ephemeral = {dh: crypto.createDhKeys(seeds.dh), kem: crypto.createKemKeys(seeds.kem)};
		const skem = crypto.encapsulate(responder.kem, seeds.skem);
		const parts = [state.encryptAndHash(skem.ciphertext)];
		state.mixKeyAndHash(skem.secret);
		parts.push(...hashPublicKeys(state, publicKeysOf(ephemeral)));
		state.mixKey(ephemeral.dh.agree(responder.dh));
		parts.push(state.encryptAndHash(self.dh.publicBytes), state.encryptAndHash(self.kem.publicBytes));
		state.mixKey(self.dh.agree(responder.dh));
		parts.push(state.encryptAndHash(payload));
		this.message = concatBytes(parts);
		this.#crypto = crypto;
		this.#state = state;
		this.#self = self;
		this.#ephemeral = ephemeral;
	}

	/** Takes the answer; throws a `HandshakeError` if it is not that of the responder. */
	finish(answer: Uint8Array): ChannelCiphers {
		return toChannelCiphers(this.#crypto, this.finishWithKeys(answer));
	}

	/** The same, with the keys of the channel themselves. */
	finishWithKeys(answer: Uint8Array): ChannelKeys {
		return explainFailure(() => {
			const state = this.#state;
			const reader = new MessageParts(answer);
			const ekem = reader.take(KEM_CIPHERTEXT_BYTES);
			state.mixHash(ekem);
			state.mixKey(this.#ephemeral.kem.decapsulate(ekem));
			const skem = state.decryptAndHash(reader.take(KEM_CIPHERTEXT_BYTES + TAG_BYTES));
			state.mixKeyAndHash(this.#self.kem.decapsulate(skem));
			// The responder's ephemeral ML-KEM key is hashed and never used.
			const {dh} = takePublicKeys(state, reader);
			state.mixKey(this.#ephemeral.dh.agree(dh));
			state.mixKey(this.#self.dh.agree(dh));
			if (state.decryptAndHash(reader.rest()).length > 0) throw new Error('the answer has a payload');
			return state.split('initiator');
		});
	}
}

/** Second message of a handshake, and the channel it opens. */
export interface HandshakeAnswer {
	readonly message: Uint8Array;
	readonly ciphers: ChannelCiphers;
}

export interface ResponderOptions {
	readonly self: NoiseKeys;
	readonly prologue: Uint8Array;
	/** First message of the initiator. */
	readonly message: Uint8Array;
	readonly seeds?: ResponderSeeds | undefined;
}

/** The end whose key is known: reads the first message, and answers when its user has admitted the initiator. */
export class NoiseResponder {
	/** Static keys of the initiator, which has proved to have them. */
	readonly initiator: NoisePublicKeys;
	readonly payload: Uint8Array;
	readonly #crypto: NoiseCrypto;
	readonly #state: SymmetricState;
	readonly #ephemeral: NoisePublicKeys;
	readonly #seeds: ResponderSeeds;

	/** Throws a `HandshakeError` for a message that is not for this key and prologue. */
	constructor(crypto: NoiseCrypto, {self, prologue, message, seeds = {}}: ResponderOptions) {
		const state = startState(crypto, prologue, publicKeysOf(self));
		const parts = explainFailure(() => readFirstMessage(state, self, message));
		this.initiator = parts.initiator;
		this.payload = parts.payload;
		this.#ephemeral = parts.ephemeral;
		this.#crypto = crypto;
		this.#state = state;
		this.#seeds = seeds;
	}

	/** The answer that admits the initiator, and the channel. Call once. */
	answer(): HandshakeAnswer {
		const {message, keys} = this.answerWithKeys();
		return {message, ciphers: toChannelCiphers(this.#crypto, keys)};
	}

	/** The same, with the keys of the channel themselves. */
	answerWithKeys(): {readonly message: Uint8Array; readonly keys: ChannelKeys} {
		const state = this.#state;
		const ekem = this.#crypto.encapsulate(this.#ephemeral.kem, this.#seeds.ekem);
		state.mixHash(ekem.ciphertext);
		state.mixKey(ekem.secret);
		const parts = [ekem.ciphertext];
		const skem = this.#crypto.encapsulate(this.initiator.kem, this.#seeds.skem);
		parts.push(state.encryptAndHash(skem.ciphertext));
		state.mixKeyAndHash(skem.secret);
		const own = {dh: this.#crypto.createDhKeys(this.#seeds.dh), kem: this.#crypto.createKemKeys(this.#seeds.kem)};
		parts.push(...hashPublicKeys(state, publicKeysOf(own)));
		state.mixKey(own.dh.agree(this.#ephemeral.dh));
		state.mixKey(own.dh.agree(this.initiator.dh));
		parts.push(state.encryptAndHash(NOTHING));
		return {message: concatBytes(parts), keys: state.split('responder')};
	}
}

function readFirstMessage(
	state: SymmetricState,
	self: NoiseKeys,
	message: Uint8Array,
): {readonly ephemeral: NoisePublicKeys; readonly initiator: NoisePublicKeys; readonly payload: Uint8Array} {
	const reader = new MessageParts(message);
	state.mixKeyAndHash(self.kem.decapsulate(state.decryptAndHash(reader.take(KEM_CIPHERTEXT_BYTES))));
	const ephemeral = takePublicKeys(state, reader);
	state.mixKey(self.dh.agree(ephemeral.dh));
	const dh = state.decryptAndHash(reader.take(DH_KEY_BYTES + TAG_BYTES));
	const kem = state.decryptAndHash(reader.take(KEM_KEY_BYTES + TAG_BYTES));
	state.mixKey(self.dh.agree(dh));
	return {ephemeral, initiator: {dh, kem}, payload: state.decryptAndHash(reader.rest())};
}

function startState(crypto: NoiseCrypto, prologue: Uint8Array, responder: NoisePublicKeys): SymmetricState {
	const state = new SymmetricState(crypto, PROTOCOL_NAME);
	state.mixHash(prologue);
	hashPublicKeys(state, responder);
	return state;
}

/** Public keys in the clear, as they stand in a message. */
function hashPublicKeys(state: SymmetricState, {dh, kem}: NoisePublicKeys): Uint8Array[] {
	state.mixHash(dh);
	state.mixHash(kem);
	return [dh, kem];
}

function takePublicKeys(state: SymmetricState, reader: MessageParts): NoisePublicKeys {
	const keys = {dh: reader.take(DH_KEY_BYTES), kem: reader.take(KEM_KEY_BYTES)};
	hashPublicKeys(state, keys);
	return keys;
}

/** A message, read from its beginning. */
class MessageParts {
	readonly #bytes: Uint8Array;
	#at = 0;

	constructor(bytes: Uint8Array) {
		if (bytes.length > MAX_HANDSHAKE_BYTES) throw new Error('the message is too long');
		this.#bytes = bytes;
	}

	take(length: number): Uint8Array {
		const end = this.#at + length;
		if (end > this.#bytes.length) throw new Error('the message is too short');
		const part = this.#bytes.subarray(this.#at, end);
		this.#at = end;
		return part;
	}

	rest(): Uint8Array {
		return this.take(this.#bytes.length - this.#at);
	}
}

/** One kind of error, whatever primitive has refused. */
function explainFailure<T>(step: () => T): T {
	try {
		return step();
	} catch (cause) {
		throw new HandshakeError('the Noise handshake failed', {cause});
	}
}

function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
	const joined = new Uint8Array(parts.reduce((sum, {length}) => sum + length, 0));
	let at = 0;
	for (const part of parts) {
		joined.set(part, at);
		at += part.length;
	}
	return joined;
}
