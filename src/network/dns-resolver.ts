import {type LookupAddress, type LookupAllOptions, lookup as resolveName} from 'node:dns';
import type {LookupFunction} from 'node:net';
import {onAbort} from '../shared/async/on-abort.js';

/**
 * Concurrent lookups. Each blocks one of the few threads of the pool, which file operations need as well, for as long
 * as a name server does not answer.
 */
export const MAX_LOOKUPS = 2;
/** Concurrent lookups of one owner: a name server that does not answer one of them leaves a thread to the others. */
export const MAX_OWNER_LOOKUPS = 1;
/** Different names of one owner that are being looked up or queued. */
export const MAX_PENDING_LOOKUPS = 64;

type Resolve = (
	host: string,
	options: LookupAllOptions,
	callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;
type LookupCallback = Parameters<Resolve>[2];

/** Who asks for a name. */
export interface Asker {
	/** Lookups are shared fairly between owners, such as tokens. */
	readonly owner?: unknown;
	/** Aborted when the answer is no longer wanted; a lookup that nobody wants leaves the queue. */
	readonly signal?: AbortSignal | undefined;
}

/** The `lookup` option of `net.connect` for a connection that can be given up. */
export type AskedLookup = (...params: [...Parameters<LookupFunction>, asker?: Asker]) => void;

interface PendingLookup {
	readonly key: string;
	readonly host: string;
	readonly options: LookupAllOptions;
	readonly callbacks: Set<LookupCallback>;
}

/** Lookups of one owner. */
interface OwnLookups {
	readonly pending: Map<string, PendingLookup>;
	readonly queue: PendingLookup[];
	running: number;
}

/**
 * DNS lookups with a limit on concurrency, round robin over their owners; concurrent requests of one owner for the same
 * name share a lookup.
 */
export class DnsResolver {
	readonly #resolve: Resolve;
	/** In the order of their next turn. */
	readonly #owners = new Map<unknown, OwnLookups>();
	#running = 0;

	/** Uses getaddrinfo by default, called through a closure so that node:dns is loaded with the first lookup. */
	constructor(resolve: Resolve = (host, options, callback) => resolveName(host, options, callback)) {
		this.#resolve = resolve;
	}

	/** The `lookup` option of `net.connect`. */
	readonly lookup: AskedLookup = (host, options, found, asker) => {
		const answer: LookupCallback = (error, addresses) => {
			const [first] = addresses;
			if (error || !first) found(error ?? new Error(`${host} has no address`), '', 0);
			else if (options.all) found(null, addresses);
			else found(null, first.address, first.family);
		};
		this.lookupAll(host, {...options, all: true}, answer, asker);
	};

	lookupAll(host: string, options: LookupAllOptions, callback: LookupCallback, {owner, signal}: Asker = {}): void {
		if (signal?.aborted) return;
		const key = JSON.stringify([host, options.family, options.hints]);
		const own = this.#owners.get(owner) ?? createOwnLookups();
		let lookup = own.pending.get(key);
		if (!lookup && own.pending.size >= MAX_PENDING_LOOKUPS) {
			callback(new Error(`${MAX_PENDING_LOOKUPS} names wait to be looked up already`), []);
			return;
		}
		if (!lookup) {
			lookup = {key, host, options, callbacks: new Set()};
			own.pending.set(key, lookup);
			own.queue.push(lookup);
			this.#owners.set(owner, own);
		}
		const wanted = lookup;
		// Each call is one of its own, also for a function that was given before.
		const answer: LookupCallback = (error, addresses) => {
			stopListening();
			callback(error, addresses);
		};
		const stopListening = onAbort(signal, () => this.#withdraw(owner, own, wanted, answer));
		wanted.callbacks.add(answer);
		this.#startNext();
	}

	#withdraw(owner: unknown, own: OwnLookups, lookup: PendingLookup, answer: LookupCallback): void {
		lookup.callbacks.delete(answer);
		const index = lookup.callbacks.size === 0 ? own.queue.indexOf(lookup) : -1;
		if (index === -1) return;
		own.queue.splice(index, 1);
		this.#forget(owner, own, lookup);
	}

	#forget(owner: unknown, own: OwnLookups, {key}: PendingLookup): void {
		own.pending.delete(key);
		if (own.pending.size === 0) this.#owners.delete(owner);
	}

	#startNext(): void {
		while (this.#running < MAX_LOOKUPS) {
			const next = [...this.#owners].find(([, {queue, running}]) => queue.length > 0 && running < MAX_OWNER_LOOKUPS);
			if (!next) return;
			const [owner, own] = next;
			this.#start(owner, own, own.queue.shift()!);
		}
	}

	#start(owner: unknown, own: OwnLookups, lookup: PendingLookup): void {
		this.#running++;
		own.running++;
		this.#resolve(lookup.host, lookup.options, (error, addresses) => {
			this.#running--;
			own.running--;
			// Inserting it again moves the owner to the end of the iteration order.
			this.#owners.delete(owner);
			this.#owners.set(owner, own);
			this.#forget(owner, own, lookup);
			this.#startNext();
			for (const callback of lookup.callbacks) callback(error, addresses ?? []);
		});
	}
}

function createOwnLookups(): OwnLookups {
	return {pending: new Map(), queue: [], running: 0};
}

/** Shared by the whole process, which has one thread pool. */
export const dnsResolver = new DnsResolver();
