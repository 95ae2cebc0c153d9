import {type LookupAddress, type LookupAllOptions, lookup as resolveName} from 'node:dns';
import type {LookupFunction} from 'node:net';

/**
 * Names looked up at once. Each takes one of the few threads that file operations need as well, for as long as a name
 * server does not answer.
 */
export const MAX_LOOKUPS = 2;
/** Different names that may be under way or wait. */
export const MAX_WAITING_NAMES = 256;

type Resolve = (
	host: string,
	options: LookupAllOptions,
	resolved: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;
type Resolved = Parameters<Resolve>[2];

interface Name {
	readonly host: string;
	readonly options: LookupAllOptions;
	readonly askers: Resolved[];
}

/** Looks names up, a few at a time, and each only once for everybody who asks meanwhile. */
export class DnsResolver {
	readonly #resolve: Resolve;
	readonly #names = new Map<string, Name>();
	readonly #waiting: string[] = [];
	#running = 0;

	/** Names are resolved by the system, whose part of Node is loaded for the first one. */
	constructor(resolve: Resolve = (host, options, resolved) => resolveName(host, options, resolved)) {
		this.#resolve = resolve;
	}

	/** What `connect` takes. */
	readonly lookup: LookupFunction = (host, options, found) => {
		this.all(host, {...options, all: true}, (error, addresses) => {
			const [first] = addresses;
			if (error || !first) found(error ?? new Error(`${host} has no address`), '', 0);
			else if (options.all) found(null, addresses);
			else found(null, first.address, first.family);
		});
	};

	all(host: string, options: LookupAllOptions, resolved: Resolved): void {
		const key = JSON.stringify([host, options.family, options.hints]);
		const known = this.#names.get(key);
		if (known) {
			known.askers.push(resolved);
		} else if (this.#names.size >= MAX_WAITING_NAMES) {
			resolved(new Error(`${MAX_WAITING_NAMES} names wait to be looked up already`), []);
		} else {
			this.#names.set(key, {host, options, askers: [resolved]});
			this.#waiting.push(key);
			this.#start();
		}
	}

	#start(): void {
		while (this.#running < MAX_LOOKUPS && this.#waiting.length > 0) {
			const key = this.#waiting.shift()!;
			const {host, options, askers} = this.#names.get(key)!;
			this.#running++;
			this.#resolve(host, options, (error, addresses) => {
				this.#running--;
				this.#names.delete(key);
				this.#start();
				for (const asker of askers) asker(error, addresses ?? []);
			});
		}
	}
}

/** Those of this process, which has one set of threads. */
export const dnsResolver = new DnsResolver();
