import {decodeBase64, encodeBase64} from '../../shared/base64.js';
import type {NoisePublicKeys} from '../../shared/noise/hybrid-ik.js';
import {DH_KEY_BYTES, KEM_KEY_BYTES} from '../../shared/noise/noise-crypto.js';

/** Name of the primitives in a key; not quite that of the protocol itself. */
export const NOISE_SUITE = 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256';
/** Security profile of registrations. */
export const SECURITY_PROFILE = 'noise_hybrid_ik_v1';
const PROLOGUE_DOMAIN = 'codex-exec-server-relay-noise/v1';
const LENGTH_BYTES = 8;

/** A public key of the relay protocol in JSON. */
export interface RelayKey {
	readonly suite: string;
	readonly x25519_public_key: string;
	readonly mlkem768_public_key: string;
}

const MEMBERS: ReadonlySet<string> = new Set(['suite', 'x25519_public_key', 'mlkem768_public_key']);

export function encodeRelayKey({dh, kem}: NoisePublicKeys): RelayKey {
	return {suite: NOISE_SUITE, x25519_public_key: encodeBase64(dh), mlkem768_public_key: encodeBase64(kem)};
}

/** Throws an `Error` with upstream's text for a key that cannot be used. */
export function decodeRelayKey(key: unknown): NoisePublicKeys {
	if (typeof key !== 'object' || key === null) throw new Error('invalid Noise channel public key: not an object');
	const unknown = Object.keys(key).find(name => !MEMBERS.has(name));
	if (unknown !== undefined) throw new Error(`invalid Noise channel public key: unknown field \`${unknown}\``);
	const {suite, x25519_public_key: dh, mlkem768_public_key: kem} = key as Record<string, unknown>;
	if (suite !== NOISE_SUITE) throw new Error('invalid Noise channel public key: unsupported Noise channel suite');
	return {dh: decodePart(dh, DH_KEY_BYTES, 'X25519'), kem: decodePart(kem, KEM_KEY_BYTES, 'ML-KEM-768')};
}

function decodePart(text: unknown, length: number, name: string): Uint8Array {
	const problem = `invalid Noise channel public key: invalid ${name} public key`;
	if (typeof text !== 'string') throw new Error(problem);
	let bytes: Uint8Array;
	try {
		bytes = decodeBase64(text);
	} catch (cause) {
		throw new Error(`${problem} encoding`, {cause});
	}
	if (bytes.length !== length) throw new Error(`${problem} length`);
	return bytes;
}

/** The stream a channel belongs to: both ends hash it, so a relay cannot move a handshake elsewhere. */
export interface StreamIdentity {
	readonly environmentId: string;
	readonly registrationId: string;
	readonly streamId: string;
}

/** Each text behind its length, which makes two identities with the same bytes impossible. */
export function encodePrologue({environmentId, registrationId, streamId}: StreamIdentity): Uint8Array {
	const texts = [PROLOGUE_DOMAIN, environmentId, registrationId, streamId].map(text => new TextEncoder().encode(text));
	const bytes = new Uint8Array(texts.reduce((sum, {length}) => sum + LENGTH_BYTES + length, 0));
	const view = new DataView(bytes.buffer);
	let at = 0;
	for (const text of texts) {
		view.setBigUint64(at, BigInt(text.length));
		bytes.set(text, at + LENGTH_BYTES);
		at += LENGTH_BYTES + text.length;
	}
	return bytes;
}
