import {createNonce} from '../registry/tickets.js';
import type {GrantStore} from '../store/hub-store.js';
import type {NatsBucket} from './nats-buckets.js';

/** Authorizations and used tickets, in buckets whose entries live for a minute or two. */
export class NatsGrants implements GrantStore {
	readonly #bucket: NatsBucket;
	readonly #used: NatsBucket;

	/** `used` must be on disk: the secret of the tickets is, and a ticket must not be good again when the servers have restarted. */
	constructor(bucket: NatsBucket, used: NatsBucket) {
		this.#bucket = bucket;
		this.#used = used;
	}

	put(digest: string, binding: Uint8Array): Promise<void> {
		return this.#bucket.put(digest, binding);
	}

	/** Good once over all nodes: only one delete can name the revision that was read. */
	async take(digest: string): Promise<Uint8Array | undefined> {
		const entry = await this.#bucket.get(digest);
		return entry && (await this.#bucket.take(digest, entry.revision)) ? entry.value : undefined;
	}

	createNonce(): string {
		return createNonce();
	}

	/** The memory is on disk, and older than every ticket. */
	remembers(): boolean {
		return true;
	}

	claim(nonce: string): Promise<boolean> {
		return this.#used.write(nonce, '', undefined);
	}
}
