import {createHash, randomBytes} from 'node:crypto';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import {Lifetime} from '../../shared/async/lifetime.js';
import {LongarmError} from '../../shared/errors.js';
import {allows, type Grant} from '../auth/grant.js';
import type {GrantRecord, ShareRecord} from '../handoff/server-record.js';

/** Tells share tokens from others, for the server and for people. */
export const SHARE_TOKEN_PREFIX = 'las_';
/** Tokens that are good at once, of all owners and of one process. */
export const MAX_SHARE_TOKENS = 10_000;
/** Longest time a token is good for: 30 days. */
export const MAX_SHARE_MS = 30 * 24 * 60 * 60_000;
const SECRET_BYTES = 32;

/** Digits of its digest that a share is known by to its owner. */
const ID_DIGITS = 12;

/** Grant of a share token. */
type ShareGrant = Grant & {readonly expiresAt: number; readonly process: ManagedProcess};

/** A share as its owner sees it. */
export interface KnownShare {
	readonly shareId: string;
	readonly process: ManagedProcess;
	readonly role: ProcessRole;
	readonly expiresAtMs: number;
}

/**
 * Tokens for one process and one role each. Only their digests are kept, in memory: they end with the server, and with the
 * token that made them.
 */
export class ShareTokens {
	readonly #shares = new Map<string, ShareGrant>();
	/** Connections of each share. */
	readonly #connections = new Map<Grant, Lifetime>();

	/** A new token; the holder counts as a client of its own, with the connections of its owner as the limit. */
	create(
		process: ManagedProcess,
		role: ProcessRole,
		forMs: number,
		owner: Grant,
	): {readonly token: string; readonly shareId: string; readonly expiresAtMs: number} {
		this.#dropExpired();
		if (this.#shares.size >= MAX_SHARE_TOKENS) {
			throw new LongarmError('SHARE_REFUSED', {
				message: `${MAX_SHARE_TOKENS} share tokens are in use already`,
				context: {limit: MAX_SHARE_TOKENS},
			});
		}
		const {source} = owner;
		const leftMs = (source?.expiresAtMs ?? Number.POSITIVE_INFINITY) - Date.now();
		const ms = Math.min(forMs, MAX_SHARE_MS, leftMs);
		if (leftMs <= 0) throw new LongarmError('SHARE_REFUSED', {message: 'the token of this connection has expired'});
		const token = `${SHARE_TOKEN_PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`;
		const scopes = role === 'drive' ? (['observe', 'drive'] as const) : (['observe'] as const);
		const name = `guest of ${owner.name}`;
		const expiresAt = performance.now() + ms;
		const grant = {name, scopes, process, expiresAt, source, ...(owner.limits && {limits: owner.limits})};
		const digest = digestOfToken(token);
		this.#shares.set(digest, grant);
		return {token, shareId: shareIdOf(digest), expiresAtMs: Date.now() + ms};
	}

	/** Shares of processes that this is true of. */
	list(isIncluded: (process: ManagedProcess) => boolean): KnownShare[] {
		this.#dropExpired();
		return [...this.#shares]
			.filter(([, {process}]) => isIncluded(process))
			.map(([digest, {process, expiresAt, ...grant}]) => ({
				shareId: shareIdOf(digest),
				process,
				role: allows(grant, 'drive') ? 'drive' : 'observe',
				expiresAtMs: Math.round(Date.now() + expiresAt - performance.now()),
			}));
	}

	/** Ends a share and its connections; false if there is none of this id that the condition is true of. */
	revoke(shareId: string, isIncluded: (process: ManagedProcess) => boolean): boolean {
		const found = [...this.#shares].filter(
			([digest, {process}]) => shareIdOf(digest) === shareId && isIncluded(process),
		);
		for (const [digest] of found) this.#end(digest);
		return found.length > 0;
	}

	/** Ends the shares whose token is no longer good, and their connections. */
	recheck(isGood: (grant: Grant) => boolean): void {
		for (const [digest, grant] of this.#shares) if (!isGood(grant)) this.#end(digest);
	}

	/** Calls back when the share of a connection is revoked; the returned function forgets the connection. */
	watch(grant: Grant, revoked: () => void): () => void {
		if (![...this.#shares.values()].includes(grant as ShareGrant)) {
			revoked();
			return () => {};
		}
		let connections = this.#connections.get(grant);
		if (!connections) {
			connections = new Lifetime();
			this.#connections.set(grant, connections);
		}
		return connections.add(revoked);
	}

	#end(digest: string): void {
		const grant = this.#shares.get(digest)!;
		this.#shares.delete(digest);
		this.#connections.get(grant)?.close();
		this.#connections.delete(grant);
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
			const {process} = loaded;
			if (process && expiresAt !== undefined) this.#shares.set(digest, {...loaded, process, expiresAt});
		}
	}

	/** Ends the tokens of a process that was removed. */
	forget(process: ManagedProcess): void {
		for (const [digest, grant] of this.#shares) {
			if (grant.process !== process) continue;
			// Its holders are told about the end of the process by events, which are on their way.
			this.#shares.delete(digest);
			this.#connections.delete(grant);
		}
	}

	#dropExpired(): void {
		const now = performance.now();
		for (const [digest, {expiresAt}] of this.#shares) if (expiresAt <= now) this.#end(digest);
	}
}

function shareIdOf(digest: string): string {
	return digest.slice(0, ID_DIGITS);
}

/** A lookup by digest takes a time that tells nothing about the tokens that are good. */
function digestOfToken(token: string): string {
	return createHash('sha256').update(token).digest('hex');
}
