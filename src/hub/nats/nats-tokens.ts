import * as v from 'valibot';
import type {Logger} from '../../shared/logger.js';
import {RateLimit, type RequestRate} from '../access/rate-limit.js';
import {HubRefusal} from '../http-exchange.js';
import {DEFAULT_TENANT, type HubTokenKind, type TokenRecord, tokenRecord} from '../store/hub-records.js';
import type {CreatedToken, TokenStore} from '../store/hub-store.js';
import {digestOfToken, makeToken, sortTokens} from '../store/hub-tokens.js';
import {BucketFollower} from './bucket-follower.js';
import type {NatsBucket, NatsBuckets} from './nats-buckets.js';

/** Tokens that are not in the copy and looked up in the bucket, of all callers together. */
const UNKNOWN_TOKEN_RATE: RequestRate = {burst: 1000, perSecond: 100};

/** Tokens in a bucket of NATS, by digest. A copy follows it, so known tokens are good while NATS is away. */
export class NatsTokens implements TokenStore {
	readonly #bucket: NatsBucket;
	readonly #follower: BucketFollower;
	readonly #byDigest = new Map<string, TokenRecord>();
	readonly #lookups = new RateLimit(UNKNOWN_TOKEN_RATE);
	#ids: Set<string> | undefined;

	private constructor(bucket: NatsBucket, logger: Logger) {
		this.#bucket = bucket;
		this.#follower = new BucketFollower(
			bucket,
			{
				changed: (key, value) => this.#take(key, value),
				reloaded: keys => {
					for (const key of this.#byDigest.keys()) if (!keys.has(key)) this.#take(key, undefined);
				},
			},
			logger,
		);
	}

	static async open(buckets: NatsBuckets, logger: Logger): Promise<NatsTokens> {
		const tokens = new NatsTokens(await buckets.open({name: 'longarm_tokens', storage: 'file'}), logger);
		await tokens.#follower.load();
		return tokens;
	}

	list(): readonly TokenRecord[] {
		return sortTokens(this.#byDigest.values());
	}

	async find(token: string | undefined, kind: HubTokenKind): Promise<TokenRecord | undefined> {
		if (token === undefined) return undefined;
		const digest = digestOfToken(token);
		// It may have been made a moment ago, through another node.
		if (!this.#byDigest.has(digest)) await this.#lookUp(digest);
		const record = this.#byDigest.get(digest);
		return record?.kind === kind ? record : undefined;
	}

	isGood(id: string): boolean {
		return this.goodIds().has(id);
	}

	goodIds(): ReadonlySet<string> {
		this.#ids ??= new Set([...this.#byDigest.values()].map(({id}) => id));
		return this.#ids;
	}

	async create(kind: HubTokenKind, pattern: string, tenant = DEFAULT_TENANT): Promise<CreatedToken> {
		const created = makeToken(kind, pattern, tenant);
		const {record} = created;
		await this.#bucket.put(record.digest, JSON.stringify(record));
		this.#byDigest.set(record.digest, record);
		this.#ids = undefined;
		return created;
	}

	async revoke(id: string): Promise<boolean> {
		const record = [...this.#byDigest.values()].find(each => each.id === id);
		if (!record) return false;
		await this.#bucket.remove(record.digest);
		this.#take(record.digest, undefined);
		return true;
	}

	close(): void {
		this.#follower.close();
	}

	async #lookUp(digest: string): Promise<void> {
		if (!this.#lookups.take('all')) {
			throw new HubRefusal(429, 'too_many_requests', 'too many unknown tokens, try again later');
		}
		this.#take(digest, (await this.#bucket.get(digest))?.value);
	}

	#take(digest: string, value: Uint8Array | undefined): void {
		this.#ids = undefined;
		if (value) this.#byDigest.set(digest, v.parse(tokenRecord, JSON.parse(Buffer.from(value).toString())));
		else this.#byDigest.delete(digest);
	}
}
