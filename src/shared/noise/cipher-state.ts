import type {Aead} from './noise-crypto.js';

const NONCE_BYTES = 12;
/** Offset of the counter behind four zero bytes. */
const COUNTER_OFFSET = 4;
const NOTHING: Uint8Array = new Uint8Array(0);

/** One key and the counter of its records: each is sealed, and opened, once and in order. */
export class CipherState {
	readonly #aead: Aead;
	readonly #nonce = new Uint8Array(NONCE_BYTES);
	readonly #counter: DataView;
	#next = 0n;

	constructor(aead: Aead) {
		this.#aead = aead;
		this.#counter = new DataView(this.#nonce.buffer, COUNTER_OFFSET);
	}

	seal(plaintext: Uint8Array, associated = NOTHING): Uint8Array {
		return this.#aead.seal(this.#takeNonce(), plaintext, associated);
	}

	sealPieces(plaintext: readonly Uint8Array[]): readonly Uint8Array[] {
		return this.#aead.sealPieces(this.#takeNonce(), plaintext);
	}

	/** Throws for a record that was changed, repeated or left out. */
	open(sealed: Uint8Array, associated = NOTHING): Uint8Array {
		return this.#aead.open(this.#takeNonce(), sealed, associated);
	}

	#takeNonce(): Uint8Array {
		this.#counter.setBigUint64(0, this.#next);
		this.#next += 1n;
		return this.#nonce;
	}
}
