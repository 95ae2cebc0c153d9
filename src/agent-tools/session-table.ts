import {randomInteger} from '../shared/random-id.js';
import {MAX_SESSION_ID, MAX_SESSIONS, MIN_SESSION_ID, PROTECTED_SESSIONS} from './exec-limits.js';

/** Fields of a session that the table needs. */
export interface TableEntry {
	readonly id: number;
	readonly process: {readonly state: {readonly kind: string}};
	readonly mutex: {readonly isLocked: boolean};
}

export interface TableOptions {
	readonly maxSessions?: number | undefined;
	readonly protectedSessions?: number | undefined;
	/** Generates ids, called until one is free. */
	readonly nextId?: (() => number) | undefined;
}

/** Sessions by id, in LRU order. */
export class SessionTable<T extends TableEntry> {
	/** Least recently used first. */
	readonly #entries = new Map<number, T>();
	readonly #reserved = new Set<number>();
	readonly #maxSessions: number;
	readonly #protectedSessions: number;
	readonly #nextId: () => number;

	constructor({maxSessions, protectedSessions, nextId}: TableOptions = {}) {
		this.#maxSessions = maxSessions ?? MAX_SESSIONS;
		this.#protectedSessions = protectedSessions ?? PROTECTED_SESSIONS;
		this.#nextId = nextId ?? (() => randomInteger(MIN_SESSION_ID, MAX_SESSION_ID));
	}

	/** Returns an unused id and takes it until it is released. */
	reserve(): number {
		let id = this.#nextId();
		while (this.#reserved.has(id)) id = this.#nextId();
		this.#reserved.add(id);
		return id;
	}

	/** Removes the session and frees its id. */
	release(id: number): void {
		this.#entries.delete(id);
		this.#reserved.delete(id);
	}

	/** Stores a session under its reserved id. Returns the session that was evicted for it, if any. */
	store(entry: T): T | undefined {
		const evicted = this.#entries.size >= this.#maxSessions ? this.#findEvictable() : undefined;
		if (evicted) this.release(evicted.id);
		this.#entries.set(entry.id, entry);
		return evicted;
	}

	find(id: number): T | undefined {
		return this.#entries.get(id);
	}

	/** Makes a session the most recently used one. */
	touch(entry: T): void {
		this.#entries.delete(entry.id);
		this.#entries.set(entry.id, entry);
	}

	all(): T[] {
		return [...this.#entries.values()];
	}

	/**
	 * The oldest exited session, else the oldest one; never a protected one, nor one whose mutex is locked. While an exited
	 * session is being read for the last time no running one is evicted: its slot is about to be free.
	 */
	#findEvictable(): T | undefined {
		const candidates = this.all().slice(0, Math.max(0, this.#entries.size - this.#protectedSessions));
		const exited = candidates.filter(({process}) => process.state.kind !== 'running');
		const isFree = (entry: T) => !entry.mutex.isLocked;
		return exited.length > 0 ? exited.find(isFree) : candidates.find(isFree);
	}
}
