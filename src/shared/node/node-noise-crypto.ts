import {
	createCipheriv,
	createDecipheriv,
	createHash,
	createHmac,
	createPrivateKey,
	createPublicKey,
	diffieHellman,
	randomBytes,
} from 'node:crypto';
import {createKemKeys, encapsulate} from '../noise/kem.js';
import {type Aead, DH_KEY_BYTES, type DhKeys, type NoiseCrypto, TAG_BYTES} from '../noise/noise-crypto.js';

const CIPHER = 'aes-256-gcm';
/** DER of an X25519 key up to its 32 bytes. */
const SPKI_HEADER = Buffer.from('302a300506032b656e032100', 'hex');
const PKCS8_HEADER = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** OpenSSL's primitives; ML-KEM is JavaScript, since older lines of Node have none. */
export const nodeNoiseCrypto: NoiseCrypto = {
	sha256(...parts) {
		const hash = createHash('sha256');
		for (const part of parts) hash.update(part);
		return hash.digest();
	},
	hmacSha256(key, ...parts) {
		const mac = createHmac('sha256', key);
		for (const part of parts) mac.update(part);
		return mac.digest();
	},
	createAead,
	createDhKeys,
	createKemKeys,
	encapsulate,
};

function createAead(key: Uint8Array): Aead {
	return {
		seal(nonce, plaintext, associated) {
			const cipher = createCipheriv(CIPHER, key, nonce);
			cipher.setAAD(associated);
			return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
		},
		sealPieces(nonce, plaintext) {
			const cipher = createCipheriv(CIPHER, key, nonce);
			const sealed = plaintext.map(piece => cipher.update(piece));
			sealed.push(cipher.final(), cipher.getAuthTag());
			return sealed;
		},
		open(nonce, sealed, associated) {
			if (sealed.length < TAG_BYTES) throw new Error('the record is shorter than its tag');
			const decipher = createDecipheriv(CIPHER, key, nonce, {authTagLength: TAG_BYTES});
			decipher.setAAD(associated);
			const end = sealed.length - TAG_BYTES;
			decipher.setAuthTag(sealed.subarray(end));
			const plaintext = decipher.update(sealed.subarray(0, end));
			decipher.final();
			return plaintext;
		},
	};
}

function createDhKeys(seed: Uint8Array = randomBytes(DH_KEY_BYTES)): DhKeys {
	const privateKey = createPrivateKey({key: Buffer.concat([PKCS8_HEADER, seed]), format: 'der', type: 'pkcs8'});
	const der = createPublicKey(privateKey).export({format: 'der', type: 'spki'});
	return {
		seed,
		publicBytes: der.subarray(SPKI_HEADER.length),
		agree(peer) {
			const publicKey = createPublicKey({key: Buffer.concat([SPKI_HEADER, peer]), format: 'der', type: 'spki'});
			return diffieHellman({privateKey, publicKey});
		},
	};
}
