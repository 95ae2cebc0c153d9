/** Bytes on their way from this node to all others that have not arrived yet; core NATS cuts off whoever is behind by more. */
export const MAX_BYTES_ON_THE_WAY = 16 * 1024 * 1024;
/** The same to one node: one that stands still must not stop the others. */
export const MAX_BYTES_TO_ONE_NODE = 4 * 1024 * 1024;

/** Bounds the bytes that are on their way over one NATS connection. */
export class FlowBudget {
	readonly #byNode = new Map<string, number>();
	/** Links that wait for room, longest first. */
	readonly #waiting = new Set<() => void>();
	#total = 0;
	#isWaking = false;

	get total(): number {
		return this.#total;
	}

	/** False if there is no room; `wake` is called once when there may be some. */
	take(node: string, bytes: number, wake: () => void): boolean {
		const ofNode = this.#byNode.get(node) ?? 0;
		// A message that is longer than the bound goes alone.
		const isFull = ofNode > 0 && (ofNode + bytes > MAX_BYTES_TO_ONE_NODE || this.#total + bytes > MAX_BYTES_ON_THE_WAY);
		if (isFull) {
			this.#waiting.add(wake);
			return false;
		}
		this.#byNode.set(node, ofNode + bytes);
		this.#total += bytes;
		return true;
	}

	/** These bytes have arrived, or their link is gone. */
	release(node: string, bytes: number): void {
		const left = (this.#byNode.get(node) ?? 0) - bytes;
		if (left > 0) this.#byNode.set(node, left);
		else this.#byNode.delete(node);
		this.#total -= bytes;
		if (this.#waiting.size === 0 || this.#isWaking) return;
		// After the caller, so that links take turns.
		this.#isWaking = true;
		setImmediate(() => {
			this.#isWaking = false;
			const waiting = [...this.#waiting];
			this.#waiting.clear();
			for (const wake of waiting) wake();
		});
	}

	forget(wake: () => void): void {
		this.#waiting.delete(wake);
	}
}
