import {createHash, randomBytes, timingSafeEqual} from 'node:crypto';
import {markPlaced} from '../../protocol/relay/placement.js';
import type {RelayKey} from '../../protocol/relay/relay-keys.js';
import type {EnvironmentPlace} from '../store/hub-records.js';
import type {GrantStore} from '../store/hub-store.js';

const SECRET_BYTES = 32;

/** Use of an authorization: one client key at one registration. */
export interface GrantBinding extends EnvironmentPlace {
	readonly registrationId: string;
	readonly harnessKey: RelayKey;
}

/** Authorizations of clients: random, short-lived, good once. Only digests are kept. */
export class Grants {
	readonly #store: GrantStore;

	constructor(store: GrantStore) {
		this.#store = store;
	}

	/**
	 * `holder` is the id of the token of the client. `isPlaced` for a client that has not asked for this very executor, which the
	 * authorization tells.
	 */
	async create(binding: GrantBinding, holder: string, isPlaced = false): Promise<string> {
		const secret = randomBytes(SECRET_BYTES).toString('base64url');
		const authorization = isPlaced ? markPlaced(secret) : secret;
		await this.#store.put(digestOf(authorization), digestBinding(binding), holder);
		return authorization;
	}

	/** Takes back an authorization that was not used. */
	async withdraw(authorization: string): Promise<void> {
		await this.#store.take(digestOf(authorization));
	}

	/** Uses an authorization up, whatever the answer. */
	async use(authorization: string, binding: GrantBinding): Promise<boolean> {
		const granted = await this.#store.take(digestOf(authorization));
		const asked = digestBinding(binding);
		return granted !== undefined && granted.length === asked.length && timingSafeEqual(granted, asked);
	}
}

function digestOf(text: string): string {
	return createHash('sha256').update(text).digest('hex');
}

function digestBinding({tenant, environmentId, registrationId, harnessKey}: GrantBinding): Buffer {
	const {suite, x25519_public_key: dh, mlkem768_public_key: kem} = harnessKey;
	return createHash('sha256')
		.update(JSON.stringify([tenant, environmentId, registrationId, suite, dh, kem]))
		.digest();
}
