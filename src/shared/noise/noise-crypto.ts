/** Key pair of X25519. */
export interface DhKeys {
	/** The private key, 32 bytes. */
	readonly seed: Uint8Array;
	readonly publicBytes: Uint8Array;
	/** Throws for a public key of low order, whose secret everybody knows. */
	agree(peer: Uint8Array): Uint8Array;
}

/** Key pair of ML-KEM-768 (FIPS 203). */
export interface KemKeys {
	/** d and z of the key generation, 64 bytes: the private key. */
	readonly seed: Uint8Array;
	readonly publicBytes: Uint8Array;
	decapsulate(ciphertext: Uint8Array): Uint8Array;
}

export interface Encapsulation {
	readonly ciphertext: Uint8Array;
	readonly secret: Uint8Array;
}

/** AES-256-GCM under one key; the tag stands behind the ciphertext. */
export interface Aead {
	seal(nonce: Uint8Array, plaintext: Uint8Array, associated: Uint8Array): Uint8Array;
	/** The same for a plaintext in pieces and without associated data; the result is in pieces of any size. */
	sealPieces(nonce: Uint8Array, plaintext: readonly Uint8Array[]): readonly Uint8Array[];
	/** Throws if anything was changed. */
	open(nonce: Uint8Array, sealed: Uint8Array, associated: Uint8Array): Uint8Array;
}

/** Primitives of the Noise channel. Seeds are for test vectors; without them everything is random. */
export interface NoiseCrypto {
	sha256(...parts: readonly Uint8Array[]): Uint8Array;
	hmacSha256(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array;
	createAead(key: Uint8Array): Aead;
	/** `seed` is the private key, 32 bytes. */
	createDhKeys(seed?: Uint8Array): DhKeys;
	/** `seed` is d and z of the key generation, 64 bytes. */
	createKemKeys(seed?: Uint8Array): KemKeys;
	/** `randomness` is m of Encaps, 32 bytes. Throws for bytes that are no public key. */
	encapsulate(publicBytes: Uint8Array, randomness?: Uint8Array): Encapsulation;
}

/** Lengths in bytes. */
export const DH_KEY_BYTES = 32;
export const DH_SEED_BYTES = 32;
export const KEM_SEED_BYTES = 64;
export const KEM_KEY_BYTES = 1184;
export const KEM_CIPHERTEXT_BYTES = 1088;
export const TAG_BYTES = 16;
