import {randomHex} from '../../shared/random-id.js';
import {createNonce, FRESH_TICKET_MS, MAX_CLOCK_SKEW_MS} from '../registry/tickets.js';
import {ExpiringEntries} from './expiring-entries.js';
import type {GrantStore} from './hub-store.js';

/** How long an authorization can be used, once. */
export const GRANT_MS = 60_000;
/** How long it is remembered that a ticket was used: no longer can another use of it look like the first one. */
export const CLAIM_MS = FRESH_TICKET_MS + MAX_CLOCK_SKEW_MS;
/** Authorizations that wait to be used; one token has at most half of them. */
export const MAX_GRANTS = 100_000;
/** Used tickets that are remembered; beyond them none is let in, because it could be one of them. One token has at most half of them. */
export const MAX_CLAIMS = 100_000;
const START_BYTES = 8;
const TOO_MANY = 'too many clients connect at once';

/** Grants of a hub that is alone. */
export class MemoryGrants implements GrantStore {
	/** Begins the nonces of this run: uses of tickets of an earlier one are forgotten. */
	readonly #start = randomHex(START_BYTES);
	readonly #pending = new ExpiringEntries<Uint8Array>(MAX_GRANTS, GRANT_MS);
	readonly #claims = new ExpiringEntries<true>(MAX_CLAIMS, CLAIM_MS);

	async put(digest: string, binding: Uint8Array, holder: string): Promise<void> {
		if (!this.#pending.add(digest, binding, holder)) throw new Error(TOO_MANY);
	}

	async take(digest: string): Promise<Uint8Array | undefined> {
		const binding = this.#pending.get(digest);
		this.#pending.delete(digest);
		return binding;
	}

	createNonce(): string {
		return `${this.#start}${createNonce()}`;
	}

	remembers(nonce: string): boolean {
		return nonce.startsWith(this.#start);
	}

	async claim(nonce: string, holder: string): Promise<boolean> {
		if (this.#claims.has(nonce)) return false;
		if (!this.#claims.add(nonce, true, holder)) throw new Error(TOO_MANY);
		return true;
	}
}
