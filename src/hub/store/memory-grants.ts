import type {GrantStore} from './hub-store.js';

/** How long an authorization or a ticket of a client can be used, once. */
export const GRANT_MS = 60_000;
/** Authorizations that wait to be used. */
export const MAX_GRANTS = 100_000;
/** Tickets of clients that were used and have not expired; beyond them none is let in, because it could be one of them. */
export const MAX_CLAIMS = 100_000;
const TOO_MANY = 'too many clients connect at once';

interface PendingGrant {
	readonly binding: Uint8Array;
	/** Monotonic. */
	readonly expiresAt: number;
}

/** Grants of a hub that is alone. */
export class MemoryGrants implements GrantStore {
	/** By digest, oldest first. */
	readonly #pending = new Map<string, PendingGrant>();
	/** Keys with the monotonic time they expire, oldest first. */
	readonly #claims = new Map<string, number>();

	async put(digest: string, binding: Uint8Array): Promise<void> {
		const now = performance.now();
		for (const [each, {expiresAt}] of this.#pending) {
			if (expiresAt > now) break;
			this.#pending.delete(each);
		}
		if (this.#pending.size >= MAX_GRANTS) throw new Error(TOO_MANY);
		this.#pending.set(digest, {binding, expiresAt: now + GRANT_MS});
	}

	async take(digest: string): Promise<Uint8Array | undefined> {
		const grant = this.#pending.get(digest);
		this.#pending.delete(digest);
		return grant && grant.expiresAt > performance.now() ? grant.binding : undefined;
	}

	async claim(key: string): Promise<boolean> {
		const now = performance.now();
		for (const [used, until] of this.#claims) {
			if (until > now) break;
			this.#claims.delete(used);
		}
		if (this.#claims.has(key)) return false;
		if (this.#claims.size >= MAX_CLAIMS) throw new Error(TOO_MANY);
		this.#claims.set(key, now + GRANT_MS);
		return true;
	}
}
