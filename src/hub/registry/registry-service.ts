import {decodeRelayKey, type RelayKey} from '../../protocol/relay/relay-keys.js';
import {Mutex} from '../../shared/async/mutex.js';
import {randomHex} from '../../shared/random-id.js';
import {fingerprintOfKeys} from '../../transports/node/relay/known-executors.js';
import type {RegistrationRecord} from '../store/hub-records.js';
import type {HubStore} from '../store/hub-store.js';
import {Grants} from './grants.js';

/** Displaced keys that are remembered per environment. */
const MAX_DISPLACED = 64;
const REGISTRATION_ID_BYTES = 16;

/** Whether an executor is connected now, and with which registration. */
export type PresenceLookup = (environmentId: string) => {readonly registrationId: string} | undefined;

export type RegisterOutcome =
	| {readonly kind: 'registered'; readonly registration: RegistrationRecord; readonly replaced: string | undefined}
	/** Another executor has taken the place of this one, and is connected. */
	| {readonly kind: 'conflict'};

export type ConnectOutcome =
	| {readonly kind: 'granted'; readonly registration: RegistrationRecord; readonly authorization: string}
	| {readonly kind: 'offline'};

/** Decides who serves an environment, and which client may enter. */
export class RegistryService {
	readonly #store: HubStore;
	readonly #presence: PresenceLookup;
	readonly #grants = new Grants();
	/** Registrations are read, changed and written one after the other. */
	readonly #registering = new Mutex();

	constructor(store: HubStore, presence: PresenceLookup) {
		this.#store = store;
		this.#presence = presence;
	}

	/**
	 * The newest key wins. The same key keeps its registration. A key that was displaced is refused as long as its successor is
	 * connected, so that two executors of one name do not displace each other for ever.
	 */
	register(environmentId: string, key: RelayKey): Promise<RegisterOutcome> {
		return this.#registering.run(async () => {
			const known = await this.#store.findRegistration(environmentId);
			if (known && isSameKey(known.key, key)) return {kind: 'registered', registration: known, replaced: undefined};
			const fingerprint = fingerprintOfKey(key);
			const isOnline = this.#presence(environmentId)?.registrationId === known?.registrationId;
			if (known && isOnline && known.displaced.includes(fingerprint)) return {kind: 'conflict'};
			const displaced = known ? [...known.displaced, fingerprintOfKey(known.key)] : [];
			const registration: RegistrationRecord = {
				environmentId,
				registrationId: randomHex(REGISTRATION_ID_BYTES),
				key,
				displaced: displaced.filter(each => each !== fingerprint).slice(-MAX_DISPLACED),
			};
			await this.#store.putRegistration(registration);
			return {kind: 'registered', registration, replaced: known?.registrationId};
		});
	}

	/** An authorization for one client key, if the executor is connected. */
	async connect(environmentId: string, harnessKey: RelayKey): Promise<ConnectOutcome> {
		const registration = await this.#store.findRegistration(environmentId);
		const online = this.#presence(environmentId);
		if (!registration || online?.registrationId !== registration.registrationId) return {kind: 'offline'};
		const {registrationId} = registration;
		return {
			kind: 'granted',
			registration,
			authorization: this.#grants.create({environmentId, registrationId, harnessKey}),
		};
	}

	/** Whether a client may enter; its authorization is used up. */
	async validate(
		environmentId: string,
		{registrationId, harnessKey, authorization}: ValidateRequest,
	): Promise<boolean> {
		return this.#grants.use(authorization, {environmentId, registrationId, harnessKey});
	}

	/** Whether a ticket of an executor belongs to the registration that counts. */
	async isCurrent(environmentId: string, registrationId: string): Promise<boolean> {
		return (await this.#store.findRegistration(environmentId))?.registrationId === registrationId;
	}
}

export interface ValidateRequest {
	readonly registrationId: string;
	readonly harnessKey: RelayKey;
	readonly authorization: string;
}

/** Short name of a key for people and logs. */
export function fingerprintOfKey(key: RelayKey): string {
	return fingerprintOfKeys(decodeRelayKey(key));
}

function isSameKey(one: RelayKey, other: RelayKey): boolean {
	return fingerprintOfKey(one) === fingerprintOfKey(other);
}
