import * as v from 'valibot';
import type {Logger} from '../../shared/logger.js';
import type {ClusterParts, ExecutorLease} from '../cluster/hub-cluster.js';
import {type EnvironmentPlace, keyOfPlace} from '../store/hub-records.js';
import {BucketFollower} from './bucket-follower.js';
import {type LeaseEntry, leaseEntry, nodeOfLease} from './lease-records.js';
import type {NatsBucket} from './nats-buckets.js';

/** Entries that are not written again within this time are over. */
export const LEASE_MS = 45_000;
/** Leases that vanish all at once are unknown for this time, not over: the servers may have lost them. */
export const UNKNOWN_MS = 20_000;
const AGE_INTERVAL_MS = 1000;

interface HeldEntry {
	readonly node: string;
	entry: LeaseEntry;
	/** Monotonic. */
	receivedAt: number;
	/** Time left until it is over; runs only while our own connection is up. */
	leftMs: number;
}

/** Leases of the executors of all other nodes, as far as this node knows. */
export class LeaseView {
	readonly #bucket: NatsBucket;
	readonly #ownNode: string;
	readonly #changed: ClusterParts['changed'];
	readonly #follower: BucketFollower;
	readonly #timer: NodeJS.Timeout;
	readonly #entries = new Map<string, HeldEntry>();
	readonly #byPlace = new Map<string, ExecutorLease & {readonly key: string; readonly receivedAt: number}>();
	/** Nodes that do not answer: their entries are worth nothing until they write again. */
	readonly #dead = new Set<string>();

	constructor(
		bucket: NatsBucket,
		{ownNode, changed, logger}: {ownNode: string; changed: ClusterParts['changed']; logger: Logger},
	) {
		this.#bucket = bucket;
		this.#ownNode = ownNode;
		this.#changed = changed;
		this.#follower = new BucketFollower(
			bucket,
			{
				changed: (key, value) => this.#take(key, value),
				reloaded: keys => {
					for (const [key, held] of this.#entries) if (!keys.has(key)) held.leftMs = Math.min(held.leftMs, UNKNOWN_MS);
				},
			},
			logger,
		);
		this.#timer = setInterval(() => this.#age(), AGE_INTERVAL_MS);
		this.#timer.unref();
	}

	load(): Promise<void> {
		return this.#follower.load();
	}

	/** Other nodes that have leases, with the number of their executors. */
	nodes(): ReadonlyMap<string, {readonly executors: number; readonly isDraining: boolean}> {
		const nodes = new Map<string, {executors: number; isDraining: boolean}>();
		for (const {node, entry} of this.#entries.values()) {
			const executors = (nodes.get(node)?.executors ?? 0) + entry.executors.length;
			nodes.set(node, {executors, isDraining: entry.isDraining});
		}
		return nodes;
	}

	find(place: EnvironmentPlace): ExecutorLease | undefined {
		const lease = this.#byPlace.get(keyOfPlace(place));
		return lease && toPresent(lease);
	}

	list(): ExecutorLease[] {
		return [...this.#byPlace.values()].map(toPresent);
	}

	/** The node does not answer. */
	dropNode(node: string): void {
		this.#dead.add(node);
		for (const [key, held] of this.#entries) if (held.node === node) this.#remove(key);
	}

	close(): void {
		clearInterval(this.#timer);
		this.#follower.close();
	}

	#take(key: string, value: Uint8Array | undefined): void {
		const node = nodeOfLease(key);
		if (node === this.#ownNode) return;
		if (!value) return this.#remove(key);
		this.#dead.delete(node);
		const entry = v.parse(leaseEntry, JSON.parse(Buffer.from(value).toString()));
		const former = this.#entries.get(key)?.entry.executors ?? [];
		const receivedAt = performance.now();
		this.#entries.set(key, {node, entry, receivedAt, leftMs: LEASE_MS});
		const isListed = new Set(entry.executors.map(keyOfPlace));
		for (const place of former) if (!isListed.has(keyOfPlace(place))) this.#forget(key, place);
		for (const executor of entry.executors) {
			const placeKey = keyOfPlace(executor);
			const isNew = !this.#byPlace.has(placeKey);
			const {isDraining} = entry;
			this.#byPlace.set(placeKey, {...executor, load: executor.load, node, isDraining, key, receivedAt});
			if (isNew) this.#changed(executor, true);
		}
	}

	#remove(key: string): void {
		const held = this.#entries.get(key);
		this.#entries.delete(key);
		for (const place of held?.entry.executors ?? []) this.#forget(key, place);
	}

	/** Another entry may have the executor by now. */
	#forget(key: string, place: EnvironmentPlace): void {
		const placeKey = keyOfPlace(place);
		if (this.#byPlace.get(placeKey)?.key !== key) return;
		this.#byPlace.delete(placeKey);
		this.#changed(place, false);
	}

	#age(): void {
		if (!this.#bucket.link.isUp) return;
		for (const [key, held] of this.#entries) {
			held.leftMs -= AGE_INTERVAL_MS;
			if (held.leftMs <= 0) this.#remove(key);
		}
	}
}

function toPresent({
	key: _key,
	receivedAt,
	...lease
}: ExecutorLease & {readonly key: string; readonly receivedAt: number}): ExecutorLease {
	return {...lease, onlineForMs: lease.onlineForMs + Math.round(performance.now() - receivedAt)};
}
