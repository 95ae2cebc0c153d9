import {createHash, randomBytes} from 'node:crypto';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import {LongarmError} from '../../shared/errors.js';
import type {Grant} from '../auth/grant.js';
import type {GrantRecord, ShareRecord} from '../handoff/server-record.js';

/** Tells share tokens from others, for the server and for people. */
export const SHARE_TOKEN_PREFIX = 'las_';
/** Tokens that are good at once, of all owners and of one process. */
export const MAX_SHARE_TOKENS = 10_000;
/** Longest time a token is good for: 30 days. */
export const MAX_SHARE_MS = 30 * 24 * 60 * 60_000;
const SECRET_BYTES = 32;

/** Grant of a share token. */
type ShareGrant = Grant & {readonly expiresAt: number};

/** Tokens for one process and one role each. Only their digests are kept, in memory: they end with the server. */
export class ShareTokens {
	readonly #shares = new Map<string, ShareGrant>();

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
		const expiresAt = performance.now() + ms;
		const grant = {name, scopes, process, expiresAt, ...(owner.limits && {limits: owner.limits})};
		this.#shares.set(digestOfToken(token), grant);
		return {token, expiresAtMs: Date.now() + ms};
	}

	/** Undefined for a token that is unknown or has expired, or whose process is gone. */
	find(token: string): Grant | undefined {
		if (!token.startsWith(SHARE_TOKEN_PREFIX)) return undefined;
		const grant = this.#shares.get(digestOfToken(token));
		return grant && grant.expiresAt > performance.now() ? grant : undefined;
	}

	/** For a program that takes the place of this one. */
	handOver(storeGrant: (grant: Grant) => GrantRecord): ShareRecord[] {
		this.#dropExpired();
		return [...this.#shares].map(([digest, grant]) => ({digest, grant: storeGrant(grant)}));
	}

	adopt(records: readonly ShareRecord[], loadGrant: (grant: GrantRecord) => Grant): void {
		for (const {digest, grant} of records) {
			const {expiresAt, ...loaded} = loadGrant(grant);
			if (loaded.process && expiresAt !== undefined) this.#shares.set(digest, {...loaded, expiresAt});
		}
	}

	/** Ends the tokens of a process that was removed. */
	forget(process: ManagedProcess): void {
		for (const [digest, grant] of this.#shares) if (grant.process === process) this.#shares.delete(digest);
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
