/**
 * Trims a queue in the next turn of the event loop instead of at once: many events arrive in one read of a socket, and a
 * reader that takes them without waiting has its turn only after the last of them.
 */
export class DeferredTrim {
	readonly #trim: () => void;
	#isScheduled = false;

	constructor(trim: () => void) {
		this.#trim = trim;
	}

	schedule(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		setTimeout(() => {
			this.#isScheduled = false;
			this.#trim();
		}, 0);
	}
}
