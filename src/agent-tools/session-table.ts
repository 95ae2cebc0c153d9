import {randomInteger} from '../shared/random-id.js';
import {MAX_SESSION_ID, MAX_SESSIONS, PROTECTED_SESSIONS, SMALLEST_SESSION_ID} from './exec-limits.js';

/** What the table has to know of a session. */
export interface TableEntry {
	readonly id: number;
	readonly process: {readonly life: {readonly kind: string}};
	readonly lock: {readonly isHeld: boolean};
}

export interface TableOptions {
	readonly maxSessions?: number | undefined;
	readonly protectedSessions?: number | undefined;
	/** Proposes numbers until one is free. */
	readonly nextId?: (() => number) | undefined;
}

/** Sessions by number, in the order they were used. */
export class SessionTable<T extends TableEntry> {
	/** The least recently used one first. */
	readonly #entries = new Map<number, T>();
	readonly #reserved = new Set<number>();
	readonly #maxSessions: number;
	readonly #protected: number;
	readonly #nextId: () => number;

	constructor({maxSessions, protectedSessions, nextId}: TableOptions = {}) {
		this.#maxSessions = maxSessions ?? MAX_SESSIONS;
		this.#protected = protectedSessions ?? PROTECTED_SESSIONS;
		this.#nextId = nextId ?? (() => randomInteger(SMALLEST_SESSION_ID, MAX_SESSION_ID));
	}

	/** A number nobody else has, until it is released. */
	reserve(): number {
		let id = this.#nextId();
		while (this.#reserved.has(id)) id = this.#nextId();
		this.#reserved.add(id);
		return id;
	}

	/** Forgets the session and gives its number back. */
	release(id: number): void {
		this.#entries.delete(id);
		this.#reserved.delete(id);
	}

	/** Stores a session under its reserved number. Returns the one that had to make room; it is forgotten by now. */
	store(entry: T): T | undefined {
		const evicted = this.#entries.size >= this.#maxSessions ? this.#victim() : undefined;
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
	 * The oldest one that has exited, else the oldest one; never a recent one, nor one that is being talked to. While an
	 * exited one is only being read for the last time nothing that lives is ended for it: room is about to come.
	 */
	#victim(): T | undefined {
		const candidates = this.all().slice(0, Math.max(0, this.#entries.size - this.#protected));
		const exited = candidates.filter(({process}) => process.life.kind !== 'running');
		const free = (entry: T) => !entry.lock.isHeld;
		return exited.length > 0 ? exited.find(free) : candidates.find(free);
	}
}
