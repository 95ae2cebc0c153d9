/** Reason why an id cannot be added, in the order of the checks. */
export type IdRefusal = 'length' | 'closed' | 'taken' | 'full';

export interface IdTableOptions {
	readonly maxEntries: number;
	/** Shortest id, in bytes of UTF-8; 0 by default. */
	readonly minIdBytes?: number;
	/** Longest id, in bytes of UTF-8. */
	readonly maxIdBytes: number;
	/** Makes the error that `reserve` and `requireLength` throw. */
	readonly toError: (refusal: IdRefusal, id: string) => Error;
}

/** Table of entries by ids that clients choose, bounded in entries and in the length of an id. */
export class IdTable<T> {
	readonly #options: IdTableOptions;
	readonly #entries = new Map<string, T | undefined>();
	#isClosed = false;

	constructor(options: IdTableOptions) {
		this.#options = options;
	}

	/** Undefined if `reserve` would succeed. */
	findRefusal(id: string): IdRefusal | undefined {
		const {maxEntries} = this.#options;
		if (!this.#hasValidLength(id)) return 'length';
		if (this.#isClosed) return 'closed';
		if (this.#entries.has(id)) return 'taken';
		return this.#entries.size >= maxEntries ? 'full' : undefined;
	}

	/** Throws for an id of a length that no entry can have. */
	requireLength(id: string): void {
		if (!this.#hasValidLength(id)) throw this.#options.toError('length', id);
	}

	/**
	 * Takes the id before the entry exists, so that of two concurrent opens with the same id only one succeeds. The id
	 * stays taken until `delete`.
	 */
	reserve(id: string, entry?: T): void {
		const refusal = this.findRefusal(id);
		if (refusal) throw this.#options.toError(refusal, id);
		this.#entries.set(id, entry);
	}

	/** Sets the entry of a reserved id; no-op if the id was deleted. */
	set(id: string, entry: T): void {
		if (this.#entries.has(id)) this.#entries.set(id, entry);
	}

	/** Undefined also for an id that is reserved and has no entry yet. */
	get(id: string): T | undefined {
		return this.#entries.get(id);
	}

	/** True for a reserved id, with or without an entry. */
	has(id: string): boolean {
		return this.#entries.has(id);
	}

	delete(id: string): void {
		this.#entries.delete(id);
	}

	/** Taken ids, oldest first. Ids may be deleted during the iteration. */
	ids(): Iterable<string> {
		return this.#entries.keys();
	}

	/** The owner of the entries is gone: a request that is still under way for it takes no id any more. */
	close(): void {
		this.#isClosed = true;
	}

	#hasValidLength(id: string): boolean {
		const {minIdBytes = 0, maxIdBytes} = this.#options;
		// UTF-8 has at least one byte for each character, so a long id is refused without encoding it.
		if (id.length > maxIdBytes) return false;
		const bytes = new TextEncoder().encode(id).length;
		return bytes >= minIdBytes && bytes <= maxIdBytes;
	}
}
