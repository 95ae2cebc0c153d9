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
/** Environments that one token adds while the hub runs. */
export const MAX_ENVIRONMENTS_PER_TOKEN = 10_000;
/** Bytes of the registrations of one token, those of earlier runs included; those it has replaced do not count. */
export const MAX_REGISTRATION_BYTES_PER_TOKEN = 32 * 1024 * 1024;
/** Bytes of all registrations. */
export const MAX_REGISTRATION_BYTES = 256 * 1024 * 1024;
/** Attempts to write a registration that others write at the same time. */
const MAX_REGISTER_ATTEMPTS = 16;

/** Whether an executor with this registration is connected now, to any node. */
export type PresenceLookup = (place: EnvironmentPlace, registrationId: string) => Promise<boolean>;

/** Properties that an executor registers with. */
export type ExecutorOffer = Pick<RegistrationRecord, 'labels' | 'pools' | 'slots' | 'tokenId'>;

/** Members of a registration whose size the executor chooses; the list of displaced keys has a limit of its own. */
type RequestedRegistration = EnvironmentPlace & Pick<RegistrationRecord, 'key' | 'labels' | 'pools' | 'slots'>;

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
	/** Environments that each token has added; its key is the id of a token, of which there are as many as the owner makes. */
	readonly #added = new Map<string, number>();
	/** Bytes of registrations by environment, by token, and in all. */
	readonly #written = new Map<string, {readonly tokenId: string; readonly bytes: number}>();
	readonly #bytesByToken = new Map<string, number>();
	#bytes = 0;
	#counted: Promise<void> | undefined;

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
		this.#counted ??= this.#countStored();
		await this.#counted;
		const stored = (await this.#store.findRegistration(requested))?.registration;
		const bytes = sizeOf(requested);
		const isGrowing = !stored || bytes > sizeOf(stored);
		if (isGrowing && !this.#hasRoom(requested, tokenId, bytes)) return false;
		if (!stored) {
			const added = this.#added.get(tokenId) ?? 0;
			if (added >= this.#maxEnvironmentsPerToken) return false;
			if ((await this.#store.listRegistrations()).length >= this.#maxEnvironments) return false;
			this.#added.set(tokenId, added + 1);
		}
		this.#count(requested, tokenId, bytes);
		return true;
	}

	async #countStored(): Promise<void> {
		for (const registration of await this.#store.listRegistrations()) {
			this.#count(registration, registration.tokenId ?? '', sizeOf(registration));
		}
	}

	#hasRoom(place: EnvironmentPlace, tokenId: string, bytes: number): boolean {
		const before = this.#written.get(keyOfPlace(place));
		const own = this.#bytesOf(tokenId) - (before?.tokenId === tokenId ? before.bytes : 0);
		if (own + bytes > MAX_REGISTRATION_BYTES_PER_TOKEN) return false;
		return this.#bytes - (before?.bytes ?? 0) + bytes <= MAX_REGISTRATION_BYTES;
	}

	#count(place: EnvironmentPlace, tokenId: string, bytes: number): void {
		const key = keyOfPlace(place);
		const before = this.#written.get(key);
		if (before) this.#bytesByToken.set(before.tokenId, this.#bytesOf(before.tokenId) - before.bytes);
		this.#bytesByToken.set(tokenId, this.#bytesOf(tokenId) + bytes);
		this.#bytes += bytes - (before?.bytes ?? 0);
		this.#written.set(key, {tokenId, bytes});
	}

	#bytesOf(tokenId: string): number {
		return this.#bytesByToken.get(tokenId) ?? 0;
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
		{isPlaced = false}: {readonly isPlaced?: boolean} = {},
	): Promise<ConnectOutcome> {
		const registration = (await this.#store.findRegistration(place))?.registration;
		if (!registration || !(await this.#isOnline(place, registration.registrationId))) return {kind: 'offline'};
		const {tenant, environmentId, registrationId} = registration;
		const authorization = await this.#grants.create({tenant, environmentId, registrationId, harnessKey}, isPlaced);
		return {kind: 'granted', registration, authorization};
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

export interface ValidateRequest {
	readonly registrationId: string;
	readonly harnessKey: RelayKey;
	readonly authorization: string;
}

function sizeOf({tenant, environmentId, key, labels, pools, slots}: RequestedRegistration): number {
	return Buffer.byteLength(JSON.stringify({tenant, environmentId, key, labels, pools, slots}));
}

/** Short name of a key for people and logs. */
export function fingerprintOfKey(key: RelayKey): string {
	return fingerprintOfKeys(decodeRelayKey(key));
}

function isSameKey(one: RelayKey, other: RelayKey): boolean {
	return fingerprintOfKey(one) === fingerprintOfKey(other);
}
