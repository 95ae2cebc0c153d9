import type {Metadata} from '../files.js';

/** Coalesces concurrent metadata calls: callers that ask for the same path share one request. */
export class MetadataCache {
	readonly #pending = new Map<string, Promise<Metadata>>();

	async get(href: string, request: () => Promise<Metadata>): Promise<Metadata> {
		const pending = this.#pending.get(href);
		if (pending) return pending;
		const lookup = request();
		this.#pending.set(href, lookup);
		try {
			return await lookup;
		} finally {
			if (this.#pending.get(href) === lookup) this.#pending.delete(href);
		}
	}

	/** Runs a change; requests made before or during it are not shared with callers after it. */
	async changing<T>(change: () => Promise<T>): Promise<T> {
		this.#pending.clear();
		try {
			return await change();
		} finally {
			this.#pending.clear();
		}
	}
}
