import {createHash, timingSafeEqual} from 'node:crypto';
import type {Grant} from './grant.js';

/** SHA-256 of a token, and the grant that comes with it. */
export interface CapabilityToken {
	readonly digest: Buffer;
	readonly grant: Grant;
}

/** Opaque bearer tokens. Only their digests are kept. */
export class CapabilityTokens {
	readonly #tokens: readonly CapabilityToken[];

	constructor(tokens: readonly CapabilityToken[]) {
		this.#tokens = tokens.map(({digest, grant}) => ({
			digest,
			grant: {...grant, source: {owner: grant.name, digest: digest.toString('hex')}},
		}));
	}

	/** The digest is no secret: who has it has no token. */
	findByDigest(hex: string): Grant | undefined {
		return this.#tokens.findLast(({digest}) => digest.toString('hex') === hex)?.grant;
	}

	/** Constant time: compares with every token, so that the duration tells nothing about them. */
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

/** Parses the 64 hex digits of a SHA-256; undefined for anything else. */
export function parseDigest(text: string): Buffer | undefined {
	return /^[0-9a-f]{64}$/i.test(text.trim()) ? Buffer.from(text.trim(), 'hex') : undefined;
}
