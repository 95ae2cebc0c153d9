/** Concurrent searches, each with a thread, of one account; and of all accounts while none of them has to wait. */
export const MAX_RUNNING_SEARCHES = 2;
/** Threads of searches in all: so many accounts have one search running each, whatever the others do. */
export const MAX_SEARCH_THREADS = 4;
/** Time a search may keep its thread while an account that has none waits for one. */
export const MAX_HELD_MS = 30_000;

/** Owner of a search. Threads are shared between accounts first, then between the connections of each. */
export interface SearchOwner {
	/** Such as a token; a connection without one is an account of its own. */
	readonly account: unknown;
	readonly connection: unknown;
}

export interface SearchTurn {
	/** Called once, at once or later. */
	readonly start: () => void;
	/** Called while it runs, at most once, when others have waited for its thread; it has to leave then. */
	readonly giveUp: () => void;
}

interface Entry extends SearchTurn {
	readonly owner: SearchOwner;
	state: 'waiting' | 'running' | 'left';
	startedAt: number;
}

/**
 * Shares the threads between the owners of searches. An account without a running search comes before all that have one;
 * among equals the order is round robin, so that many searches of one delay no other. If all threads are taken, the search
 * that runs longest has to go once it has run for `MAX_HELD_MS`.
 */
export class SearchQueue {
	readonly #running = new Set<Entry>();
	/** Accounts in the order of their next turn, and connections in theirs. */
	readonly #waiting = new Map<unknown, Map<unknown, Entry[]>>();
	#timer: NodeJS.Timeout | undefined;

	/** The returned function ends the turn, or leaves the queue. */
	enter(owner: SearchOwner, turn: SearchTurn): () => void {
		const entry: Entry = {...turn, owner, state: 'waiting', startedAt: 0};
		if (this.#mayRun(owner.account)) this.#run(entry);
		else this.#enqueue(entry);
		this.#watchLongest();
		return () => this.#leave(entry);
	}

	#run(entry: Entry): void {
		entry.state = 'running';
		entry.startedAt = performance.now();
		this.#running.add(entry);
		try {
			entry.start();
		} catch (error) {
			this.#leave(entry);
			throw error;
		}
	}

	#leave(entry: Entry): void {
		const {state} = entry;
		entry.state = 'left';
		if (state === 'left') return;
		if (state === 'running') this.#running.delete(entry);
		else this.#dequeue(entry);
		// An account that waits no longer may have kept another from a second search.
		this.#startNext();
		this.#watchLongest();
	}

	#mayRun(account: unknown): boolean {
		if (!this.#isRunning({account})) return this.#running.size < MAX_SEARCH_THREADS;
		const isAlone = [...this.#waiting.keys()].every(each => each === account);
		return isAlone && this.#running.size < MAX_RUNNING_SEARCHES;
	}

	/** Whether a search of the account, or of the connection of it, is running. */
	#isRunning({account, connection}: {readonly account: unknown; readonly connection?: unknown}): boolean {
		return [...this.#running].some(
			({owner}) => owner.account === account && (connection === undefined || owner.connection === connection),
		);
	}

	#enqueue(entry: Entry): void {
		const {account, connection} = entry.owner;
		const connections = this.#waiting.get(account) ?? new Map<unknown, Entry[]>();
		this.#waiting.set(account, connections.set(connection, [...(connections.get(connection) ?? []), entry]));
	}

	#dequeue(entry: Entry): void {
		const {account, connection} = entry.owner;
		const connections = this.#waiting.get(account)!;
		const others = connections.get(connection)!.filter(each => each !== entry);
		if (others.length > 0) connections.set(connection, others);
		else connections.delete(connection);
		if (connections.size === 0) this.#waiting.delete(account);
	}

	#startNext(): void {
		for (;;) {
			const accounts = [...this.#waiting.keys()].filter(each => this.#mayRun(each));
			const account = accounts.find(each => !this.#isRunning({account: each})) ?? accounts[0];
			if (account === undefined) return;
			const connections = this.#waiting.get(account)!;
			const waiting = [...connections.keys()];
			const connection = waiting.find(each => !this.#isRunning({account, connection: each})) ?? waiting[0];
			const entry = connections.get(connection)![0]!;
			this.#dequeue(entry);
			moveToEnd(connections, connection);
			moveToEnd(this.#waiting, account);
			this.#run(entry);
		}
	}

	/** Sets the timer for the search that runs longest while an account without a thread waits. */
	#watchLongest(): void {
		clearTimeout(this.#timer);
		const [longest] = this.#running;
		const isWanted = [...this.#waiting.keys()].some(account => !this.#isRunning({account}));
		if (!isWanted || !longest) return;
		const leftMs = longest.startedAt + MAX_HELD_MS - performance.now();
		this.#timer = setTimeout(() => longest.giveUp(), Math.max(0, leftMs)).unref();
	}
}

/** Changes the order of iteration, which is that of insertion; no-op for a key that is not there. */
function moveToEnd<K, V>(map: Map<K, V>, key: K): void {
	const value = map.get(key);
	if (value === undefined) return;
	map.delete(key);
	map.set(key, value);
}
