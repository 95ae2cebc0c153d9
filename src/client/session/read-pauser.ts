/** What can be told to read nothing for a while. */
export interface PausableConnection {
	/** Reads nothing more until the returned function is called. */
	holdReading(): () => void;
}

/** Those who want nothing to be read for now, over as many connections as there are one after the other. */
export class ReadPauser {
	#holders = 0;
	#connection: PausableConnection | undefined;
	#resume: (() => void) | undefined;

	/** The connection in use from now on; with none nothing is held, and the wish is kept for the next one. */
	use(connection: PausableConnection | undefined): void {
		this.#resume?.();
		this.#resume = undefined;
		this.#connection = connection;
		this.#balance();
	}

	hold(): void {
		this.#holders++;
		this.#balance();
	}

	release(): void {
		this.#holders--;
		this.#balance();
	}

	#balance(): void {
		if (this.#holders > 0) this.#resume ??= this.#connection?.holdReading();
		else {
			this.#resume?.();
			this.#resume = undefined;
		}
	}
}
