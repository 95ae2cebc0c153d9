import {randomBytes} from 'node:crypto';
import * as v from 'valibot';
import type {Logger} from '../../shared/logger.js';
import {type EnvironmentPlace, keyOfPlace, type RegistrationRecord, registrationRecord} from '../store/hub-records.js';
import type {HubStore, StoredRegistration} from '../store/hub-store.js';
import {BucketFollower} from './bucket-follower.js';
import type {NatsBucket, NatsBuckets} from './nats-buckets.js';

const SECRET_KEY = 'ticket-secret';
const SECRET_BYTES = 32;

/** Registrations in a bucket of NATS. Decisions read the bucket; lists read a copy that follows it. */
export class NatsStore implements HubStore {
	readonly ticketSecret: Uint8Array;
	readonly #bucket: NatsBucket;
	readonly #follower: BucketFollower;
	readonly #known = new Map<string, RegistrationRecord>();

	private constructor(bucket: NatsBucket, ticketSecret: Uint8Array, logger: Logger) {
		this.#bucket = bucket;
		this.ticketSecret = ticketSecret;
		this.#follower = new BucketFollower(
			bucket,
			{
				changed: (key, value) => {
					if (value) this.#known.set(key, decode(value));
					else this.#known.delete(key);
				},
				reloaded: keys => {
					for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
				},
			},
			logger,
		);
	}

	static async open(buckets: NatsBuckets, logger: Logger): Promise<NatsStore> {
		const secrets = await buckets.open({name: 'longarm_secrets', storage: 'file'});
		const registrations = await buckets.open({name: 'longarm_registrations', storage: 'file'});
		const store = new NatsStore(registrations, await openSecret(secrets), logger);
		await store.#follower.load();
		return store;
	}

	async findRegistration(place: EnvironmentPlace): Promise<StoredRegistration | undefined> {
		const entry = await this.#bucket.get(keyOfPlace(place));
		return entry && {registration: decode(entry.value), revision: entry.revision};
	}

	putRegistration(registration: RegistrationRecord, revision: number | undefined): Promise<boolean> {
		return this.#bucket.write(keyOfPlace(registration), JSON.stringify(registration), revision);
	}

	async listRegistrations(tenant?: string): Promise<readonly RegistrationRecord[]> {
		const all = [...this.#known.values()];
		return tenant === undefined ? all : all.filter(registration => registration.tenant === tenant);
	}

	async close(): Promise<void> {
		this.#follower.close();
	}
}

/** The first node makes the secret; all others find it. */
async function openSecret(bucket: NatsBucket): Promise<Uint8Array> {
	for (;;) {
		const known = await bucket.get(SECRET_KEY);
		if (known) return Buffer.from(Buffer.from(known.value).toString(), 'hex');
		await bucket.write(SECRET_KEY, randomBytes(SECRET_BYTES).toString('hex'), undefined);
	}
}

function decode(value: Uint8Array): RegistrationRecord {
	return v.parse(registrationRecord, JSON.parse(Buffer.from(value).toString()));
}
