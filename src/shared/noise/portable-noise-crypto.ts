import {gcm} from '@noble/ciphers/aes.js';
import {x25519} from '@noble/curves/ed25519.js';
import {hmac} from '@noble/hashes/hmac.js';
import {sha256} from '@noble/hashes/sha2.js';
import {concatBytes} from '@noble/hashes/utils.js';
import {createKemKeys, encapsulate} from './kem.js';
import type {NoiseCrypto} from './noise-crypto.js';

/** For browsers, which have no synchronous cryptography of their own. */
export const portableNoiseCrypto: NoiseCrypto = {
	sha256(...parts) {
		const hash = sha256.create();
		for (const part of parts) hash.update(part);
		return hash.digest();
	},
	hmacSha256(key, ...parts) {
		const mac = hmac.create(sha256, key);
		for (const part of parts) mac.update(part);
		return mac.digest();
	},
	createAead: key => ({
		seal: (nonce, plaintext, associated) => gcm(key, nonce, associated).encrypt(plaintext),
		sealPieces: (nonce, plaintext) => [gcm(key, nonce).encrypt(concatBytes(...plaintext))],
		open: (nonce, sealed, associated) => gcm(key, nonce, associated).decrypt(sealed),
	}),
	createDhKeys(seed = x25519.utils.randomSecretKey()) {
		return {seed, publicBytes: x25519.getPublicKey(seed), agree: peer => x25519.getSharedSecret(seed, peer)};
	},
	createKemKeys,
	encapsulate,
};
