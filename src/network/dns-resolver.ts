import {type LookupAddress, type LookupAllOptions, lookup as resolveName} from 'node:dns';
import type {LookupFunction} from 'node:net';

/**
 * Concurrent lookups. Each blocks one of the few threads of the pool, which file operations need as well, for as long
 * as a name server does not answer.
 */
export const MAX_LOOKUPS = 2;
/** Different names that are being looked up or queued. */
export const MAX_PENDING_LOOKUPS = 256;

type Resolve = (
	host: string,
	options: LookupAllOptions,
	callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;
type LookupCallback = Parameters<Resolve>[2];

interface PendingLookup {
	readonly host: string;
	readonly options: LookupAllOptions;
	readonly callbacks: LookupCallback[];
}

/** DNS lookups with a limit on concurrency; concurrent requests for the same name share one lookup. */
export class DnsResolver {
	readonly #resolve: Resolve;
	readonly #pending = new Map<string, PendingLookup>();
	readonly #queue: string[] = [];
	#running = 0;

	/** Uses getaddrinfo by default, called through a closure so that node:dns is loaded with the first lookup. */
	constructor(resolve: Resolve = (host, options, callback) => resolveName(host, options, callback)) {
		this.#resolve = resolve;
	}

	/** The `lookup` option of `net.connect`. */
	readonly lookup: LookupFunction = (host, options, found) => {
		this.lookupAll(host, {...options, all: true}, (error, addresses) => {
			const [first] = addresses;
			if (error || !first) found(error ?? new Error(`${host} has no address`), '', 0);
			else if (options.all) found(null, addresses);
			else found(null, first.address, first.family);
		});
	};

	lookupAll(host: string, options: LookupAllOptions, callback: LookupCallback): void {
		const key = JSON.stringify([host, options.family, options.hints]);
		const known = this.#pending.get(key);
		if (known) {
			known.callbacks.push(callback);
		} else if (this.#pending.size >= MAX_PENDING_LOOKUPS) {
			callback(new Error(`${MAX_PENDING_LOOKUPS} names wait to be looked up already`), []);
		} else {
			this.#pending.set(key, {host, options, callbacks: [callback]});
			this.#queue.push(key);
			this.#startNext();
		}
	}

	#startNext(): void {
		while (this.#running < MAX_LOOKUPS && this.#queue.length > 0) {
			const key = this.#queue.shift()!;
			const {host, options, callbacks} = this.#pending.get(key)!;
			this.#running++;
			this.#resolve(host, options, (error, addresses) => {
				this.#running--;
				this.#pending.delete(key);
				this.#startNext();
				for (const callback of callbacks) callback(error, addresses ?? []);
			});
		}
	}
}

/** Shared by the whole process, which has one thread pool. */
export const dnsResolver = new DnsResolver();
