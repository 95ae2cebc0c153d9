import type {KvWatchEntry} from '@nats-io/kv';
import {Deferred} from '../../shared/async/deferred.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {isBucketMissing, type NatsBucket} from './nats-buckets.js';

/** How often it is checked that nothing was missed: a consumer may stand still after its server died. */
const CHECK_INTERVAL_MS = 2000;
/** How long the first entries may take. */
const LOAD_TIMEOUT_MS = 10_000;

export interface FollowerEvents {
	/** A value was written; undefined if it was deleted. */
	changed(key: string, value: Uint8Array | undefined): void;
	/** The bucket was read from its beginning: only these keys exist. */
	reloaded(keys: ReadonlySet<string>): void;
}

type Watch = AsyncIterable<KvWatchEntry> & {stop(): void};

/**
 * Follows all changes of a bucket. Every two seconds its position is compared with the end of the bucket, and a consumer that was
 * left behind is replaced by another one from there on.
 */
export class BucketFollower {
	readonly #bucket: NatsBucket;
	readonly #events: FollowerEvents;
	readonly #logger: Logger;
	readonly #timer: NodeJS.Timeout;
	readonly #stopListening: () => void;
	#watch: Watch | undefined;
	/** Last change that was seen, and that the bucket had at the last check. */
	#seen = 0;
	#behindAt = -1;
	/** Tells a bucket from another one of the same name, made later. */
	#created = '';
	#isChecking = false;
	#isClosed = false;

	constructor(bucket: NatsBucket, events: FollowerEvents, logger: Logger) {
		this.#bucket = bucket;
		this.#events = events;
		this.#logger = logger;
		this.#timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS);
		this.#timer.unref();
		this.#stopListening = bucket.link.onRestored(() => void this.check());
	}

	/** Settles when all entries there are have been told. */
	async load(): Promise<void> {
		const {streamInfo} = await this.#bucket.kv.status();
		await this.#begin(streamInfo.created, 0, streamInfo.state.messages === 0);
	}

	/** Compares positions; is called by itself now and then. */
	async check(): Promise<void> {
		if (this.#isChecking || this.#isClosed || !this.#bucket.link.isUp) return;
		this.#isChecking = true;
		try {
			const {created, state} = (await this.#bucket.kv.status()).streamInfo;
			if (created !== this.#created || state.last_seq < this.#seen) {
				await this.#begin(created, 0, state.messages === 0);
			} else if (state.last_seq > this.#seen && this.#behindAt === this.#seen) {
				this.#logger.warn('a watch of NATS stands still and is made again', {behind: state.last_seq - this.#seen});
				await this.#begin(created, this.#seen, false);
				// Changes that have expired meanwhile never arrive.
				this.#behindAt = -1;
				if (state.messages === 0) this.#seen = state.last_seq;
			} else {
				this.#behindAt = state.last_seq > this.#seen ? this.#seen : -1;
			}
		} catch (error) {
			if (isBucketMissing(error)) await this.#bucket.restore().catch(() => {});
			this.#logger.debug('the state in NATS cannot be read now', {error: errorMessage(error)});
		} finally {
			this.#isChecking = false;
		}
	}

	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
		this.#stopListening();
		this.#watch?.stop();
	}

	async #begin(created: string, after: number, isEmpty: boolean): Promise<void> {
		this.#watch?.stop();
		const watch = (await this.#bucket.kv.watch(after > 0 ? {resumeFromRevision: after + 1} : {})) as unknown as Watch;
		if (this.#isClosed) return watch.stop();
		this.#watch = watch;
		this.#created = created;
		this.#seen = after;
		const loaded = new Deferred();
		void this.#follow(watch, after === 0 ? new Set() : undefined, loaded);
		if (isEmpty && after === 0) this.#events.reloaded(new Set());
		else if (after === 0) await waitAtMost(loaded.promise, LOAD_TIMEOUT_MS);
	}

	/** An entry that cannot be read counts as absent: one bad entry must not stop the hub. */
	#notify(key: string, value: Uint8Array | undefined): void {
		try {
			this.#events.changed(key, value);
		} catch (error) {
			this.#logger.warn('an entry of the state in NATS is skipped', {key, error: errorMessage(error)});
			this.#events.changed(key, undefined);
		}
	}

	async #follow(watch: Watch, keys: Set<string> | undefined, loaded: Deferred): Promise<void> {
		let isLoading = keys !== undefined;
		for await (const {key, value, operation, revision, isUpdate} of watch) {
			if (watch !== this.#watch) return;
			this.#seen = Math.max(this.#seen, revision);
			this.#notify(key, operation === 'PUT' ? value : undefined);
			if (!isLoading) continue;
			if (operation === 'PUT') keys?.add(key);
			if (!isUpdate) continue;
			isLoading = false;
			this.#events.reloaded(keys!);
			loaded.resolve();
		}
	}
}
