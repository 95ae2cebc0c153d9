import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import type {ExecutorEnd} from '../relay/relay-ends.js';
import {EXECUTORS_PER_ENTRY, type LeaseEntry, leaseKey} from './lease-records.js';
import type {NatsBucket} from './nats-buckets.js';

/** Entries are written again after this time, each times a random 0.8 to 1.2, so that nodes do not write all at once. */
export const LEASE_RENEWAL_MS = 15_000;
/** Executors that come and go within this time are written together. */
const GATHER_MS = 50;
/** The same for their number of streams, which is for placement and need not be exact. */
const GATHER_LOAD_MS = 1000;

interface Group {
	readonly index: number;
	readonly executors: Set<ExecutorEnd>;
	/** Monotonic: when it is to be written next. */
	dueAt: number;
}

/** Writes the leases of this node's executors, a hundred to an entry. */
export class LeaseWriter {
	readonly #bucket: NatsBucket;
	readonly #node: string;
	readonly #logger: Logger;
	readonly #groups: Group[] = [];
	readonly #groupOf = new Map<ExecutorEnd, Group>();
	#isDraining = false;
	#isClosed = false;
	#timer: NodeJS.Timeout | undefined;
	#isWriting = false;

	constructor(bucket: NatsBucket, node: string, logger: Logger) {
		this.#bucket = bucket;
		this.#node = node;
		this.#logger = logger;
		// A node without executors has an entry, too: it is how others learn of the node.
		this.#groups.push({index: 0, executors: new Set(), dueAt: 0});
		this.#schedule();
	}

	changed(executor: ExecutorEnd, isOnline: boolean): void {
		if (isOnline) this.#add(executor);
		else this.#remove(executor);
	}

	loadChanged(executor: ExecutorEnd): void {
		const group = this.#groupOf.get(executor);
		if (group) this.#due(group, GATHER_LOAD_MS);
	}

	drain(): void {
		this.#isDraining = true;
		this.renewAll();
	}

	/** The bucket may have lost everything. */
	renewAll(): void {
		for (const group of this.#groups) this.#due(group, GATHER_MS);
	}

	/** Takes the leases back. */
	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		const keys = this.#groups.map(({index}) => leaseKey(this.#node, index));
		await Promise.allSettled(keys.map(key => this.#bucket.remove(key)));
	}

	#add(executor: ExecutorEnd): void {
		let group = this.#groups.find(({executors}) => executors.size < EXECUTORS_PER_ENTRY);
		if (!group) {
			group = {index: this.#groups.length, executors: new Set(), dueAt: Number.POSITIVE_INFINITY};
			this.#groups.push(group);
		}
		group.executors.add(executor);
		this.#groupOf.set(executor, group);
		this.#due(group, GATHER_MS);
	}

	#remove(executor: ExecutorEnd): void {
		const group = this.#groupOf.get(executor);
		if (!group) return;
		this.#groupOf.delete(executor);
		group.executors.delete(executor);
		this.#due(group, GATHER_MS);
	}

	#due(group: Group, withinMs: number): void {
		group.dueAt = Math.min(group.dueAt, performance.now() + withinMs);
		this.#schedule();
	}

	#schedule(): void {
		if (this.#isClosed || this.#isWriting) return;
		clearTimeout(this.#timer);
		const next = Math.min(...this.#groups.map(({dueAt}) => dueAt));
		this.#timer = setTimeout(() => void this.#write(), Math.max(0, next - performance.now()));
		this.#timer.unref();
	}

	async #write(): Promise<void> {
		this.#isWriting = true;
		const now = performance.now();
		const due = this.#groups.filter(({dueAt}) => dueAt <= now + 1);
		await Promise.all(due.map(group => this.#writeGroup(group, now)));
		this.#isWriting = false;
		this.#schedule();
	}

	async #writeGroup(group: Group, now: number): Promise<void> {
		group.dueAt = now + LEASE_RENEWAL_MS * (0.8 + Math.random() * 0.4);
		const executors = [...group.executors].map(({tenant, environmentId, registrationId, streams, load, since}) => ({
			tenant,
			environmentId,
			registrationId,
			streams: streams.size,
			...(load && {load}),
			onlineForMs: Math.round(now - since),
		}));
		const entry: LeaseEntry = {isDraining: this.#isDraining, executors};
		try {
			await this.#bucket.put(leaseKey(this.#node, group.index), JSON.stringify(entry));
		} catch (error) {
			this.#logger.debug('leases cannot be written now', {error: errorMessage(error)});
			group.dueAt = Math.min(group.dueAt, performance.now() + GATHER_LOAD_MS);
		}
	}
}
