/** Time for handling requests of all connections before the event loop does its other work. */
const MAX_TURN_MS = 4;

/**
 * Shares the event loop between accounts: when requests have taken their time, connections that have more of them wait
 * for a later turn. Accounts come round robin, and so do the connections of each, so that a client that sends
 * very many requests delays those of another one by a few turns.
 */
export class RequestTurns {
	/** Functions that let a connection continue, by account; in the order of their next turn. */
	readonly #waiting = new Map<unknown, (() => void)[]>();
	#spentMs = 0;
	#isScheduled = false;

	/** Counts the time that a request took. Returns true if the connection has to wait for its next turn. */
	spend(ms: number): boolean {
		this.#spentMs += ms;
		return this.#spentMs >= MAX_TURN_MS;
	}

	/** Calls `proceed` in a later turn of the event loop. */
	wait(account: unknown, proceed: () => void): void {
		const waiting = this.#waiting.get(account);
		if (waiting) waiting.push(proceed);
		else this.#waiting.set(account, [proceed]);
		this.#schedule();
	}

	#schedule(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		setImmediate(() => {
			this.#isScheduled = false;
			this.#spentMs = 0;
			this.#runWaiting();
		});
	}

	#runWaiting(): void {
		while (this.#waiting.size > 0 && this.#spentMs < MAX_TURN_MS) {
			const [account, waiting] = this.#waiting.entries().next().value!;
			const proceed = waiting.shift()!;
			// Inserting it again moves the account to the end of the iteration order.
			this.#waiting.delete(account);
			if (waiting.length > 0) this.#waiting.set(account, waiting);
			proceed();
		}
		if (this.#waiting.size > 0) this.#schedule();
	}
}
