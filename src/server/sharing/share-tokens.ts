import {createHash, randomBytes} from 'node:crypto';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import {LongarmError} from '../../shared/errors.js';
import {fromKernelTime, toKernelTime} from '../../shared/node/kernel-clock.js';
import type {Grant} from '../auth/grant.js';
import type {GrantRecord, ShareRecord} from '../handoff/server-record.js';

/** Tells share tokens from others, for the server and for people. */
export const SHARE_TOKEN_PREFIX = 'las_';
/** Tokens that are good at once, of all owners and of one process. */
export const MAX_SHARE_TOKENS = 10_000;
/** Longest time a token is good for: 30 days. */
export const MAX_SHARE_MS = 30 * 24 * 60 * 60_000;
const SECRET_BYTES = 32;

interface Share {
	readonly grant: Grant;
	/** Monotonic. */
	readonly expiresAt: number;
}

/** Tokens for one process and one role each. Only their digests are kept, in memory: they end with the server. */
export class ShareTokens {
	readonly #shares = new Map<string, Share>();

	/** A new token; the holder counts as a client of its own, with the connections of its owner as the limit. */
	create(
		process: ManagedProcess,
		role: ProcessRole,
		forMs: number,
		owner: Grant,
	): {readonly token: string; readonly expiresAtMs: number} {
		this.#dropExpired();
		if (this.#shares.size >= MAX_SHARE_TOKENS) {
			throw new LongarmError('SHARE_REFUSED', {
				message: `${MAX_SHARE_TOKENS} share tokens are in use already`,
				context: {limit: MAX_SHARE_TOKENS},
			});
		}
		const ms = Math.min(forMs, MAX_SHARE_MS);
		const token = `${SHARE_TOKEN_PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`;
		const scopes = role === 'drive' ? (['observe', 'drive'] as const) : (['observe'] as const);
		const name = `guest of ${owner.name}`;
		this.#shares.set(digestOfToken(token), {
			grant: {name, scopes, process, ...(owner.limits && {limits: owner.limits})},
			expiresAt: performance.now() + ms,
		});
		return {token, expiresAtMs: Date.now() + ms};
	}

	/** Undefined for a token that is unknown or has expired, or whose process is gone. */
	find(token: string): Grant | undefined {
		if (!token.startsWith(SHARE_TOKEN_PREFIX)) return undefined;
		const share = this.#shares.get(digestOfToken(token));
		return share && share.expiresAt > performance.now() ? share.grant : undefined;
	}

	/** For a program that takes the place of this one. */
	handOver(storeGrant: (grant: Grant) => GrantRecord): ShareRecord[] {
		this.#dropExpired();
		return [...this.#shares].map(([digest, {grant, expiresAt}]) => ({
			digest,
			grant: storeGrant(grant),
			expiresAt: toKernelTime(expiresAt),
		}));
	}

	adopt(records: readonly ShareRecord[], loadGrant: (grant: GrantRecord) => Grant): void {
		for (const {digest, grant, expiresAt} of records) {
			const loaded = loadGrant(grant);
			if (loaded.process) this.#shares.set(digest, {grant: loaded, expiresAt: fromKernelTime(expiresAt)});
		}
	}

	/** Ends the tokens of a process that was removed. */
	forget(process: ManagedProcess): void {
		for (const [digest, {grant}] of this.#shares) if (grant.process === process) this.#shares.delete(digest);
	}

	#dropExpired(): void {
		const now = performance.now();
		for (const [digest, {expiresAt}] of this.#shares) if (expiresAt <= now) this.#shares.delete(digest);
	}
}

/** A lookup by digest takes a time that tells nothing about the tokens that are good. */
function digestOfToken(token: string): string {
	return createHash('sha256').update(token).digest('hex');
}
