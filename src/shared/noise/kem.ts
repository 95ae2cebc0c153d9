import {ml_kem768 as mlKem768} from '@noble/post-quantum/ml-kem.js';
import {type Encapsulation, KEM_SEED_BYTES, type KemKeys} from './noise-crypto.js';

export function createKemKeys(given?: Uint8Array): KemKeys {
	const seed = given ?? globalThis.crypto.getRandomValues(new Uint8Array(KEM_SEED_BYTES));
	const {publicKey, secretKey} = mlKem768.keygen(seed);
	return {seed, publicBytes: publicKey, decapsulate: ciphertext => mlKem768.decapsulate(ciphertext, secretKey)};
}

export function encapsulate(publicBytes: Uint8Array, randomness?: Uint8Array): Encapsulation {
	const {cipherText, sharedSecret} = mlKem768.encapsulate(publicBytes, randomness);
	return {ciphertext: cipherText, secret: sharedSecret};
}
