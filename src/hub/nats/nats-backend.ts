import type {StateLock} from '../../processes/spill/state-lock.js';
import type {ClusterParts, HubBackend} from '../cluster/hub-cluster.js';
import {CLAIM_MS, GRANT_MS} from '../store/memory-grants.js';
import {LEASE_MS} from './lease-view.js';
import {type NatsBucket, NatsBuckets} from './nats-buckets.js';
import {NatsCluster} from './nats-cluster.js';
import {NatsGrants} from './nats-grants.js';
import {type NatsLink, type NatsOptions, openNatsLink} from './nats-link.js';
import type {NatsChild} from './nats-server-child.js';
import {NatsStore} from './nats-store.js';
import {warnOfSync} from './nats-sync.js';
import {NatsTokens} from './nats-tokens.js';

/** A client cannot ask who else is in its account. */
const SHARED_ACCOUNT =
	'every user of this NATS account with rights on $KV, $JS.API or hub subjects can read and change the state of this hub: give hubs an account of their own';

export interface NatsBackendOptions extends NatsOptions {
	/** Copies of all state; 3 in a cluster by default, else 1. */
	readonly replicas?: number | undefined;
	/** Whether somebody has seen to it that the servers write to disk before they acknowledge. */
	readonly isSynced?: boolean | undefined;
	/** A server that was started for this hub, and ends with it. */
	readonly child?: NatsChild | undefined;
	/** Of the directory of this node; released at the end. */
	readonly lock?: StateLock | undefined;
}

/** Connects to NATS and opens the state that all nodes share; throws `NATS_UNUSABLE`. */
export async function openNatsBackend(options: NatsBackendOptions): Promise<NatsBackend> {
	const {logger, replicas, isSynced, child, lock} = options;
	const link = await openNatsLink(options);
	if (!child) logger.info(SHARED_ACCOUNT, {server: link.server});
	warnOfSync(link, child?.isSynced ?? isSynced ?? false, logger);
	try {
		const buckets = new NatsBuckets(link, replicas);
		const store = await NatsStore.open(buckets, logger);
		const tokens = await NatsTokens.open(buckets, logger);
		const grants = await buckets.open({name: 'longarm_grants', storage: 'memory', ttlMs: GRANT_MS});
		const used = await buckets.open({name: 'longarm_used', storage: 'file', ttlMs: CLAIM_MS});
		const leases = await buckets.open({name: 'longarm_leases', storage: 'memory', ttlMs: LEASE_MS});
		return new NatsBackend({link, store, tokens, grants: new NatsGrants(grants, used), leases, child, lock});
	} catch (error) {
		await link.close();
		throw error;
	}
}

interface NatsBackendParts {
	readonly link: NatsLink;
	readonly store: NatsStore;
	readonly tokens: NatsTokens;
	readonly grants: NatsGrants;
	readonly leases: NatsBucket;
	readonly child: NatsChild | undefined;
	readonly lock: StateLock | undefined;
}

/** State of a hub of many nodes. */
export class NatsBackend implements HubBackend {
	readonly link: NatsLink;
	readonly store: NatsStore;
	readonly grants: NatsGrants;
	readonly tokens: NatsTokens;
	readonly #leases: NatsBucket;
	readonly #child: NatsChild | undefined;
	readonly #lock: StateLock | undefined;

	constructor({link, store, tokens, grants, leases, child, lock}: NatsBackendParts) {
		this.link = link;
		this.store = store;
		this.tokens = tokens;
		this.grants = grants;
		this.#leases = leases;
		this.#child = child;
		this.#lock = lock;
	}

	createCluster(parts: ClusterParts): NatsCluster {
		return new NatsCluster({...parts, nats: this.link, leases: this.#leases});
	}

	async close(): Promise<void> {
		this.tokens.close();
		await this.store.close();
		await this.link.close();
		await this.#child?.close();
		this.#lock?.release();
	}
}
