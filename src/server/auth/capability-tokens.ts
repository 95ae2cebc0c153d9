import {createHash, timingSafeEqual} from 'node:crypto';
import type {Grant} from './grant.js';

/** A token by its SHA-256, and what it is good for. */
export interface CapabilityToken {
	readonly digest: Buffer;
	readonly grant: Grant;
}

/** Tokens that are good for whoever has them. Only their digests are known. */
export class CapabilityTokens {
	readonly #tokens: readonly CapabilityToken[];

	constructor(tokens: readonly CapabilityToken[]) {
		this.#tokens = tokens;
	}

	/** Takes the same time whatever is wrong with a token, and whichever one it is. */
	find(token: string): Grant | undefined {
		const digest = digestOf(token);
		let found: Grant | undefined;
		for (const candidate of this.#tokens) {
			if (timingSafeEqual(candidate.digest, digest)) found = candidate.grant;
		}
		return found;
	}
}

export function digestOf(token: string): Buffer {
	return createHash('sha256').update(token, 'utf8').digest();
}

/** Undefined when it is not the 64 hex digits of a SHA-256. */
export function parseDigest(text: string): Buffer | undefined {
	return /^[0-9a-f]{64}$/i.test(text.trim()) ? Buffer.from(text.trim(), 'hex') : undefined;
}
