/**
 * The work that belongs to something with an end, such as a connection: whatever is still registered when the scope
 * closes is cancelled, once. Registering with a closed scope cancels at once.
 */
export class Scope {
	#cancels: Set<() => void> | undefined = new Set();

	get closed(): boolean {
		return this.#cancels === undefined;
	}

	/** Returns the function that takes the registration back. */
	add(cancel: () => void): () => void {
		const cancels = this.#cancels;
		if (!cancels) {
			cancel();
			return () => {};
		}
		// A wrapper of its own, so that the same function may be registered twice.
		const entry = () => cancel();
		cancels.add(entry);
		return () => cancels.delete(entry);
	}

	close(): void {
		const cancels = this.#cancels;
		this.#cancels = undefined;
		for (const cancel of cancels ?? []) cancel();
	}
}
