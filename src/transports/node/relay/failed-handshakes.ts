/** Failed handshakes of one key in a row after which that key is refused for a while. */
export const MAX_FAILED_HANDSHAKES = 8;
export const HANDSHAKE_PAUSE_MS = 10_000;
/** Keys whose failures are counted; beyond it the key that failed longest ago is forgotten. */
export const MAX_COUNTED_KEYS = 1024;

interface Failures {
	count: number;
	/** Monotonic. */
	refusedUntil: number;
}

/**
 * Counts failed handshakes by the key of the client, which a handshake proves: a client cannot make the executor refuse the
 * key of another client.
 */
export class FailedHandshakes {
	/** The key that failed longest ago first. */
	readonly #byKey = new Map<string, Failures>();
	readonly #now: () => number;

	constructor(now = () => performance.now()) {
		this.#now = now;
	}

	isRefused(key: string): boolean {
		return (this.#byKey.get(key)?.refusedUntil ?? 0) > this.#now();
	}

	/** Counts one more failure; true if the key is refused from now on. */
	add(key: string): boolean {
		const count = (this.#byKey.get(key)?.count ?? 0) + 1;
		const isTooMany = count >= MAX_FAILED_HANDSHAKES;
		this.#byKey.delete(key);
		this.#byKey.set(key, {
			count: isTooMany ? 0 : count,
			refusedUntil: isTooMany ? this.#now() + HANDSHAKE_PAUSE_MS : 0,
		});
		if (this.#byKey.size > MAX_COUNTED_KEYS) this.#byKey.delete(this.#byKey.keys().next().value!);
		return isTooMany;
	}

	clear(key: string): void {
		this.#byKey.delete(key);
	}
}
