import {randomHex} from '../../shared/random-id.js';
import type {HubTokenKind, TokenRecord} from '../store/hub-records.js';
import type {CreatedToken, TokenStore} from '../store/hub-store.js';
import {digestOfToken, makeToken} from '../store/hub-tokens.js';

/** Tokens of the hub for itself, beside those of its store: they are kept nowhere, and end with the process. */
export class InternalTokens implements TokenStore {
	readonly #store: TokenStore;
	readonly #byDigest = new Map<string, TokenRecord>();

	constructor(store: TokenStore) {
		this.#store = store;
	}

	/** A client of this hub in its own process, with these rights. */
	createInternal(pattern: string, tenant: string): CreatedToken {
		const {token, record} = makeToken('client', pattern, tenant);
		const internal = {...record, id: `internal-${randomHex(4)}`};
		this.#byDigest.set(record.digest, internal);
		return {token, record: internal};
	}

	removeInternal(token: string): void {
		this.#byDigest.delete(digestOfToken(token));
	}

	isInternal(token: string | undefined): boolean {
		return token !== undefined && this.#byDigest.has(digestOfToken(token));
	}

	list(): ReturnType<TokenStore['list']> {
		return this.#store.list();
	}

	find(token: string | undefined, kind: HubTokenKind): ReturnType<TokenStore['find']> {
		const internal = token === undefined ? undefined : this.#byDigest.get(digestOfToken(token));
		return internal?.kind === kind ? internal : this.#store.find(token, kind);
	}

	isGood(id: string): boolean {
		return this.#store.isGood(id) || [...this.#byDigest.values()].some(record => record.id === id);
	}

	goodIds(): ReadonlySet<string> {
		if (this.#byDigest.size === 0) return this.#store.goodIds();
		return new Set([...this.#store.goodIds(), ...[...this.#byDigest.values()].map(({id}) => id)]);
	}

	create(kind: HubTokenKind, pattern: string, tenant?: string): ReturnType<TokenStore['create']> {
		return this.#store.create(kind, pattern, tenant);
	}

	revoke(id: string): ReturnType<TokenStore['revoke']> {
		return this.#store.revoke(id);
	}
}
