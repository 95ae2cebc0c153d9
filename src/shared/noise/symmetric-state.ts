import {CipherState} from './cipher-state.js';
import type {NoiseCrypto} from './noise-crypto.js';

const NOTHING: Uint8Array = new Uint8Array(0);

/** The two directions of a finished handshake, as seen by one end. */
export interface ChannelCiphers {
	readonly send: CipherState;
	readonly receive: CipherState;
	/** Hash over the whole handshake, the same on both ends. */
	readonly handshakeHash: Uint8Array;
}

/** The same in a form that can be handed to another thread. */
export interface ChannelKeys {
	readonly send: Uint8Array;
	readonly receive: Uint8Array;
	readonly handshakeHash: Uint8Array;
}

export function toChannelCiphers(crypto: NoiseCrypto, {send, receive, handshakeHash}: ChannelKeys): ChannelCiphers {
	const [sending, receiving] = [send, receive].map(key => new CipherState(crypto.createAead(key)));
	return {send: sending!, receive: receiving!, handshakeHash};
}

/** Hash, chaining key and cipher of a handshake (the symmetric state of Noise, revision 34). */
export class SymmetricState {
	readonly #crypto: NoiseCrypto;
	#hash: Uint8Array;
	#chainingKey: Uint8Array;
	#cipher: CipherState | undefined;

	/** The name is longer than a hash, so it is hashed. */
	constructor(crypto: NoiseCrypto, protocolName: string) {
		this.#crypto = crypto;
		this.#hash = crypto.sha256(new TextEncoder().encode(protocolName));
		this.#chainingKey = this.#hash;
	}

	mixHash(data: Uint8Array): void {
		this.#hash = this.#crypto.sha256(this.#hash, data);
	}

	mixKey(input: Uint8Array): void {
		const [chainingKey, key] = this.#derive(input, 2);
		this.#chainingKey = chainingKey!;
		this.#cipher = new CipherState(this.#crypto.createAead(key!));
	}

	mixKeyAndHash(input: Uint8Array): void {
		const [chainingKey, hashed, key] = this.#derive(input, 3);
		this.#chainingKey = chainingKey!;
		this.mixHash(hashed!);
		this.#cipher = new CipherState(this.#crypto.createAead(key!));
	}

	/** In the clear as long as there is no key. */
	encryptAndHash(plaintext: Uint8Array): Uint8Array {
		const sent = this.#cipher ? this.#cipher.seal(plaintext, this.#hash) : plaintext;
		this.mixHash(sent);
		return sent;
	}

	decryptAndHash(received: Uint8Array): Uint8Array {
		const plaintext = this.#cipher ? this.#cipher.open(received, this.#hash) : received;
		this.mixHash(received);
		return plaintext;
	}

	/** Keys of the two directions; the first is the initiator's to send with. */
	split(role: 'initiator' | 'responder'): ChannelKeys {
		const [first, second] = this.#derive(NOTHING, 2);
		const [send, receive] = role === 'initiator' ? [first!, second!] : [second!, first!];
		return {send, receive, handshakeHash: this.#hash};
	}

	/** HKDF with the chaining key as salt. */
	#derive(input: Uint8Array, count: 2 | 3): Uint8Array[] {
		const crypto = this.#crypto;
		const temporary = crypto.hmacSha256(this.#chainingKey, input);
		const derived = [crypto.hmacSha256(temporary, Uint8Array.of(1))];
		for (let n = 2; n <= count; n++) derived.push(crypto.hmacSha256(temporary, derived[n - 2]!, Uint8Array.of(n)));
		return derived;
	}
}
