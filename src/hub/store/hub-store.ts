import type {EnvironmentPlace, HubTokenKind, RegistrationRecord, TokenRecord} from './hub-records.js';

/** A registration and the number of its last change. */
export interface StoredRegistration {
	readonly registration: RegistrationRecord;
	readonly revision: number;
}

/** State of a hub that outlives it. Calls may cross a network, and are atomic each. */
export interface HubStore {
	/** Secret that tickets are signed with, the same for all nodes and after a restart. */
	readonly ticketSecret: Uint8Array;
	findRegistration(place: EnvironmentPlace): Promise<StoredRegistration | undefined>;
	/**
	 * Compare-and-set: writes if the last change is still `revision`, or if there is no record and that is undefined; false
	 * if another writer came first. Durable when it settles.
	 */
	putRegistration(registration: RegistrationRecord, revision: number | undefined): Promise<boolean>;
	/** Registrations of one tenant, or of all of them. */
	listRegistrations(tenant?: string): Promise<readonly RegistrationRecord[]>;
	close(): Promise<void>;
}

/** Authorizations, and tickets that were used, shared by all nodes. Entries are gone after a minute or two. */
export interface GrantStore {
	/** Keeps an authorization by its digest; `holder` is the id of the token it is for, of which none can use up all the room. */
	put(digest: string, binding: Uint8Array, holder: string): Promise<void>;
	/** The binding, for one caller only: the entry is gone. */
	take(digest: string): Promise<Uint8Array | undefined>;
	/** A nonce for a ticket whose use will be remembered. */
	createNonce(): string;
	/** False for the nonce of a ticket that was signed before the memory of used tickets began. */
	remembers(nonce: string): boolean;
	/** True for the first caller with this nonce within `CLAIM_MS`. `holder` is the id of the token that the ticket was given for. */
	claim(nonce: string, holder: string): Promise<boolean>;
}

/** A token and its record; the token itself is kept nowhere. */
export interface CreatedToken {
	readonly token: string;
	readonly record: TokenRecord;
}

type Awaitable<T> = T | Promise<T>;

/** Tokens of a hub, shared by all nodes; only digests are kept. */
export interface TokenStore {
	list(): Awaitable<readonly TokenRecord[]>;
	/** The record of a token that is good for this kind of caller; undefined for any other. */
	find(token: string | undefined, kind: HubTokenKind): Awaitable<TokenRecord | undefined>;
	isGood(id: string): boolean;
	/** Ids of all tokens that are good now. */
	goodIds(): ReadonlySet<string>;
	create(kind: HubTokenKind, pattern: string, tenant?: string): Awaitable<CreatedToken>;
	/** False if there is no such token. */
	revoke(id: string): Awaitable<boolean>;
}
