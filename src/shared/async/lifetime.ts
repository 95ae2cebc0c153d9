/**
 * Cancel callbacks with the lifetime of their owner, such as a connection: close() calls each one that is still
 * registered, once. Registering with a closed lifetime cancels at once.
 */
export class Lifetime {
	#cancels: Set<() => void> | undefined = new Set();

	get isClosed(): boolean {
		return this.#cancels === undefined;
	}

	/** Returns the function that removes the callback. */
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
