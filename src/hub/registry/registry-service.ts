import {decodeRelayKey, type RelayKey} from '../../protocol/relay/relay-keys.js';
import {randomHex} from '../../shared/random-id.js';
import {fingerprintOfKeys} from '../../transports/node/relay/known-executors.js';
import {type EnvironmentPlace, keyOfPlace, type RegistrationRecord} from '../store/hub-records.js';
import type {GrantStore, HubStore} from '../store/hub-store.js';
import {Grants} from './grants.js';

/** Displaced keys that are remembered per environment. */
const MAX_DISPLACED = 64;
const REGISTRATION_ID_BYTES = 16;
/** Environments that are known, online or not. */
export const MAX_ENVIRONMENTS = 100_000;
/** Environments that one token has registered, in earlier runs as well. */
export const MAX_ENVIRONMENTS_PER_TOKEN = 10_000;
/** Bytes of the registrations of one token, those of earlier runs included; those it has replaced do not count. */
export const MAX_REGISTRATION_BYTES_PER_TOKEN = 32 * 1024 * 1024;
/** Bytes of all registrations. */
export const MAX_REGISTRATION_BYTES = 256 * 1024 * 1024;
/** Share of all environments and of all bytes that is kept for tokens with few of them. */
const RESERVED_SHARE = 0.1;
/** Environments and bytes of a token that has few. */
const FEW_ENVIRONMENTS = 100;
const FEW_REGISTRATION_BYTES = 1024 * 1024;
/** How often registrations are counted anew where other nodes write some. */
const RECOUNT_MS = 10_000;
/** Attempts to write a registration that others write at the same time. */
const MAX_REGISTER_ATTEMPTS = 16;

/** Whether an executor with this registration is connected now, to any node. */
export type PresenceLookup = (place: EnvironmentPlace, registrationId: string) => Promise<boolean>;

/** Properties that an executor registers with. */
export type ExecutorOffer = Pick<RegistrationRecord, 'labels' | 'pools' | 'slots' | 'tokenId'>;

/** Members of a registration that the executor decides about. */
type RequestedRegistration = EnvironmentPlace & Pick<RegistrationRecord, 'key' | 'labels' | 'pools' | 'slots'>;

/** Registrations of one token. */
interface TokenUse {
	environments: number;
	bytes: number;
}

const NO_USE: Readonly<TokenUse> = {environments: 0, bytes: 0};

export type RegisterOutcome =
	| {readonly kind: 'registered'; readonly registration: RegistrationRecord; readonly replaced: string | undefined}
	/** Another executor has taken the place of this one, and is connected. */
	| {readonly kind: 'conflict'};

export type ConnectOutcome =
	| {readonly kind: 'granted'; readonly registration: RegistrationRecord; readonly authorization: string}
	| {readonly kind: 'offline'};

export interface RegistryServiceOptions {
	readonly store: HubStore;
	readonly grants: GrantStore;
	readonly isOnline: PresenceLookup;
	readonly maxEnvironments?: number | undefined;
	readonly maxEnvironmentsPerToken?: number | undefined;
}

/** Decides who serves an environment, and which client may enter. */
export class RegistryService {
	readonly #store: HubStore;
	readonly #isOnline: PresenceLookup;
	readonly #grants: Grants;
	readonly #maxEnvironments: number;
	readonly #maxEnvironmentsPerToken: number;
	/** Registrations by environment, by token, and their bytes in all. There are as many tokens as the owner makes. */
	readonly #written = new Map<string, {readonly tokenId: string; readonly bytes: number}>();
	readonly #byToken = new Map<string, TokenUse>();
	#bytes = 0;
	#counted: Promise<void> | undefined;
	/** Monotonic. */
	#countedAt = 0;

	constructor(options: RegistryServiceOptions) {
		this.#store = options.store;
		this.#isOnline = options.isOnline;
		this.#grants = new Grants(options.grants);
		this.#maxEnvironments = options.maxEnvironments ?? MAX_ENVIRONMENTS;
		this.#maxEnvironmentsPerToken = options.maxEnvironmentsPerToken ?? MAX_ENVIRONMENTS_PER_TOKEN;
	}

	/**
	 * Whether a token may register an environment: one that is known already if its registration does not become too large, a
	 * new one if there is room. Counts it.
	 */
	async admitEnvironment(requested: RequestedRegistration, tokenId: string): Promise<boolean> {
		await this.#recount();
		const stored = (await this.#store.findRegistration(requested))?.registration;
		// An executor that comes back with another key displaces its former one: it must not be refused for that.
		const displaced = bytesOf(stored?.displaced ?? []);
		const bytes = sizeOf(requested) + displaced;
		const isGrowing = !stored || sizeOf(requested) > sizeOf(stored);
		if (isGrowing && !this.#hasRoomFor(requested, tokenId, bytes)) return false;
		if (!stored) {
			const {environments} = this.#byToken.get(tokenId) ?? NO_USE;
			if (environments >= this.#maxEnvironmentsPerToken) return false;
			const left = this.#maxEnvironments - (await this.#store.listRegistrations()).length;
			const reserved = environments < FEW_ENVIRONMENTS ? 0 : Math.floor(this.#maxEnvironments * RESERVED_SHARE);
			if (left <= reserved) return false;
		}
		this.#count(requested, tokenId, bytes);
		return true;
	}

	/** Other nodes register environments, too. */
	async #recount(): Promise<void> {
		const now = performance.now();
		if (now - this.#countedAt > RECOUNT_MS) {
			this.#countedAt = now;
			if ((await this.#store.listRegistrations()).length > this.#written.size) this.#counted = undefined;
		}
		this.#counted ??= this.#countStored();
		await this.#counted;
	}

	async #countStored(): Promise<void> {
		for (const registration of await this.#store.listRegistrations()) {
			const bytes = sizeOf(registration) + bytesOf(registration.displaced);
			this.#count(registration, registration.tokenId ?? '', bytes);
		}
	}

	#hasRoomFor(place: EnvironmentPlace, tokenId: string, bytes: number): boolean {
		const before = this.#written.get(keyOfPlace(place));
		const {bytes: all} = this.#byToken.get(tokenId) ?? NO_USE;
		const own = all - (before?.tokenId === tokenId ? before.bytes : 0) + bytes;
		if (own > MAX_REGISTRATION_BYTES_PER_TOKEN) return false;
		const reserved = own < FEW_REGISTRATION_BYTES ? 0 : MAX_REGISTRATION_BYTES * RESERVED_SHARE;
		return this.#bytes - (before?.bytes ?? 0) + bytes <= MAX_REGISTRATION_BYTES - reserved;
	}

	#count(place: EnvironmentPlace, tokenId: string, bytes: number): void {
		const key = keyOfPlace(place);
		const before = this.#written.get(key);
		if (before) this.#addUse(before.tokenId, -1, -before.bytes);
		this.#addUse(tokenId, 1, bytes);
		this.#bytes += bytes - (before?.bytes ?? 0);
		this.#written.set(key, {tokenId, bytes});
	}

	#addUse(tokenId: string, environments: number, bytes: number): void {
		const use = this.#byToken.get(tokenId) ?? {...NO_USE};
		use.environments += environments;
		use.bytes += bytes;
		this.#byToken.set(tokenId, use);
	}

	/**
	 * The newest key wins. The same key keeps its registration. A key that was displaced is refused as long as its successor is
	 * connected, so that two executors of one name do not displace each other for ever.
	 */
	async register(place: EnvironmentPlace, key: RelayKey, offer: ExecutorOffer = {}): Promise<RegisterOutcome> {
		for (let attempt = 0; attempt < MAX_REGISTER_ATTEMPTS; attempt++) {
			const outcome = await this.#tryRegister(place, key, offer);
			if (outcome) return outcome;
		}
		throw new Error('too many executors register for one environment at once');
	}

	/** Undefined if another writer came first. */
	async #tryRegister(
		place: EnvironmentPlace,
		key: RelayKey,
		offer: ExecutorOffer,
	): Promise<RegisterOutcome | undefined> {
		const stored = await this.#store.findRegistration(place);
		const known = stored?.registration;
		if (known && isSameKey(known.key, key)) {
			const {labels, pools, slots, ...rest} = known;
			if (JSON.stringify([labels, pools, slots]) === JSON.stringify([offer.labels, offer.pools, offer.slots])) {
				return {kind: 'registered', registration: known, replaced: undefined};
			}
			const registration: RegistrationRecord = {...rest, ...offer};
			const isWritten = await this.#store.putRegistration(registration, stored?.revision);
			return isWritten ? {kind: 'registered', registration, replaced: undefined} : undefined;
		}
		const fingerprint = fingerprintOfKey(key);
		if (known?.displaced.includes(fingerprint) && (await this.#isOnline(place, known.registrationId))) {
			return {kind: 'conflict'};
		}
		const displaced = known ? [...known.displaced, fingerprintOfKey(known.key)] : [];
		const registration: RegistrationRecord = {
			tenant: place.tenant,
			environmentId: place.environmentId,
			registrationId: randomHex(REGISTRATION_ID_BYTES),
			key,
			displaced: displaced.filter(each => each !== fingerprint).slice(-MAX_DISPLACED),
			...offer,
		};
		const isWritten = await this.#store.putRegistration(registration, stored?.revision);
		return isWritten ? {kind: 'registered', registration, replaced: known?.registrationId} : undefined;
	}

	/** An authorization for one client key, if the executor is connected; `isPlaced` for a client that a pool sends. */
	async connect(
		place: EnvironmentPlace,
		harnessKey: RelayKey,
		{tokenId, isPlaced = false}: {readonly tokenId: string; readonly isPlaced?: boolean},
	): Promise<ConnectOutcome> {
		const registration = (await this.#store.findRegistration(place))?.registration;
		if (!registration || !(await this.#isOnline(place, registration.registrationId))) return {kind: 'offline'};
		const binding = {...placeOf(registration), registrationId: registration.registrationId, harnessKey};
		const authorization = await this.#grants.create(binding, tokenId, isPlaced);
		return {kind: 'granted', registration, authorization};
	}

	/**
	 * An authorization for a key of the hub itself, for an executor that is not connected yet. Throws if its registration does not
	 * count any more.
	 */
	async challenge(place: EnvironmentPlace, registrationId: string, harnessKey: RelayKey): Promise<Challenge> {
		const registration = (await this.#store.findRegistration(place))?.registration;
		if (registration?.registrationId !== registrationId) throw new Error('another executor has registered');
		const binding = {...placeOf(place), registrationId, harnessKey};
		const authorization = await this.#grants.create(binding, registrationId);
		return {registration, authorization, withdraw: () => this.#grants.withdraw(authorization)};
	}

	/** Whether a client may enter; its authorization is used up. */
	validate(
		{tenant, environmentId}: EnvironmentPlace,
		{registrationId, harnessKey, authorization}: ValidateRequest,
	): Promise<boolean> {
		return this.#grants.use(authorization, {tenant, environmentId, registrationId, harnessKey});
	}

	/** Whether a ticket of an executor belongs to the registration that counts. */
	async isCurrent(place: EnvironmentPlace, registrationId: string): Promise<boolean> {
		return (await this.#store.findRegistration(place))?.registration.registrationId === registrationId;
	}
}

/** Everything the hub needs to play a client of an executor. */
export interface Challenge {
	readonly registration: RegistrationRecord;
	readonly authorization: string;
	/** The authorization is good no longer. */
	withdraw(): Promise<void>;
}

export interface ValidateRequest {
	readonly registrationId: string;
	readonly harnessKey: RelayKey;
	readonly authorization: string;
}

function placeOf({tenant, environmentId}: EnvironmentPlace): EnvironmentPlace {
	return {tenant, environmentId};
}

function sizeOf({tenant, environmentId, key, labels, pools, slots}: RequestedRegistration): number {
	return bytesOf({tenant, environmentId, key, labels, pools, slots});
}

function bytesOf(value: object): number {
	return Buffer.byteLength(JSON.stringify(value));
}

/** Short name of a key for people and logs. */
export function fingerprintOfKey(key: RelayKey): string {
	return fingerprintOfKeys(decodeRelayKey(key));
}

function isSameKey(one: RelayKey, other: RelayKey): boolean {
	return fingerprintOfKey(one) === fingerprintOfKey(other);
}
