import {setTimeout as delay} from 'node:timers/promises';
import type {JetStreamClient} from '@nats-io/jetstream';
import type {KV, Kvm} from '@nats-io/kv';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {NatsLink} from './nats-link.js';
import {loadJetStream, loadKeyValue} from './nats-modules.js';

/** How long one call to JetStream may take. */
const CALL_TIMEOUT_MS = 2000;
/** How long a call is repeated while the servers choose a leader, or the connection is being made again. */
const MAX_PATIENCE_MS = 5000;
const RETRY_MS = 200;
/** How long the servers of a cluster may take until they can keep state, at the start. */
const START_PATIENCE_MS = 30_000;
/** Copies of all state in a cluster. */
const CLUSTER_REPLICAS = 3;

/** Codes of JetStream: the expected revision is not the last one; there is no such stream. */
const WRONG_SEQUENCE_CODES: readonly number[] = [10_071, 10_164];
const NO_STREAM_CODE = 10_059;

export interface BucketSettings {
	readonly name: string;
	/** State in memory is lost when all servers end at once. */
	readonly storage: 'file' | 'memory';
	/** Entries are gone after this time; they stay by default. */
	readonly ttlMs?: number | undefined;
}

/** Buckets of keys and values in JetStream. */
export class NatsBuckets {
	readonly link: NatsLink;
	readonly #replicas: number;
	readonly #client: JetStreamClient;
	readonly #manager: Kvm;

	constructor(link: NatsLink, replicas = link.isClustered ? CLUSTER_REPLICAS : 1) {
		this.link = link;
		this.#replicas = replicas;
		this.#client = loadJetStream().jetstream(link.connection, {timeout: CALL_TIMEOUT_MS});
		this.#manager = new (loadKeyValue().Kvm)(this.#client);
	}

	/** Opens a bucket, and makes it if there is none; throws `NATS_UNUSABLE`. */
	async open(settings: BucketSettings): Promise<NatsBucket> {
		try {
			const create = (): Promise<KV> => this.#create(settings);
			return new NatsBucket(await repeat(create, START_PATIENCE_MS), create, this.link);
		} catch (cause) {
			throw new LongarmError('NATS_UNUSABLE', {
				message: `the NATS servers cannot keep state (${settings.name}): ${errorMessage(cause)}; is JetStream on?`,
				cause,
			});
		}
	}

	#create({name, storage, ttlMs}: BucketSettings): Promise<KV> {
		return this.#manager.create(name, {
			storage,
			replicas: this.#replicas,
			history: 1,
			// Reads of a replica could be outdated.
			allow_direct: false,
			...(ttlMs !== undefined && {ttl: ttlMs}),
		});
	}
}

/** An entry and the number of its last change. */
export interface BucketEntry {
	readonly value: Uint8Array;
	readonly revision: number;
}

/** One bucket. Calls are repeated for some seconds, so an election of leaders is a pause and no failure. */
export class NatsBucket {
	readonly link: NatsLink;
	readonly #create: () => Promise<KV>;
	#kv: KV;

	constructor(kv: KV, create: () => Promise<KV>, link: NatsLink) {
		this.#kv = kv;
		this.#create = create;
		this.link = link;
	}

	get kv(): KV {
		return this.#kv;
	}

	async get(key: string): Promise<BucketEntry | undefined> {
		const entry = await this.#call(kv => kv.get(key));
		return entry && entry.operation === 'PUT' ? {value: entry.value, revision: entry.revision} : undefined;
	}

	/** Writes if the last change is still `revision`, or if there is no entry and that is undefined; false otherwise. */
	async write(key: string, value: string | Uint8Array, revision: number | undefined): Promise<boolean> {
		return this.#isTaken(kv => (revision === undefined ? kv.create(key, value) : kv.update(key, value, revision)));
	}

	async put(key: string, value: string | Uint8Array): Promise<void> {
		await this.#call(kv => kv.put(key, value));
	}

	/** Deletes the entry as it was read; false if another caller was faster. */
	async take(key: string, revision: number): Promise<boolean> {
		return this.#isTaken(kv => kv.delete(key, {previousSeq: revision}));
	}

	/** Removes an entry and its history. */
	async remove(key: string): Promise<void> {
		await this.#call(kv => kv.purge(key));
	}

	/** Makes a bucket that was lost with its servers again. */
	async restore(): Promise<void> {
		this.#kv = await this.#create();
	}

	async #isTaken(change: (kv: KV) => Promise<unknown>): Promise<boolean> {
		try {
			await this.#call(change);
			return true;
		} catch (error) {
			if (WRONG_SEQUENCE_CODES.includes((error as {code?: number}).code ?? 0)) return false;
			throw error;
		}
	}

	async #call<T>(work: (kv: KV) => Promise<T>): Promise<T> {
		return repeat(async () => {
			try {
				return await work(this.#kv);
			} catch (error) {
				if (isBucketMissing(error)) await this.restore();
				throw error;
			}
		}, MAX_PATIENCE_MS);
	}
}

/** Whether a bucket was lost with its servers. */
export function isBucketMissing(error: unknown): boolean {
	return (error as {code?: number}).code === NO_STREAM_CODE;
}

/** Repeats work that fails for a passing reason. */
async function repeat<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
	const deadline = performance.now() + patienceMs;
	for (;;) {
		try {
			return await work();
		} catch (error) {
			const isFinal = WRONG_SEQUENCE_CODES.includes((error as {code?: number}).code ?? 0);
			if (isFinal || performance.now() >= deadline) throw error;
			await delay(RETRY_MS);
		}
	}
}
