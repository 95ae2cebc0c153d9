/** A connection whose reading can be paused. */
export interface PausableConnection {
	/** Pauses reading until the returned function is called. */
	holdReading(): () => void;
}

/** Pauses reading while any process asks for it; the pauses carry over to the next connection of the session. */
export class ReadPauser {
	/** Number of `pause()` calls without their `resume()`. */
	#pauses = 0;
	#connection: PausableConnection | undefined;
	#resumeReading: (() => void) | undefined;

	/** Sets the current connection; pauses are kept while there is none. */
	use(connection: PausableConnection | undefined): void {
		this.#resumeReading?.();
		this.#resumeReading = undefined;
		this.#connection = connection;
		this.#update();
	}

	pause(): void {
		this.#pauses++;
		this.#update();
	}

	resume(): void {
		this.#pauses--;
		this.#update();
	}

	#update(): void {
		if (this.#pauses > 0) this.#resumeReading ??= this.#connection?.holdReading();
		else {
			this.#resumeReading?.();
			this.#resumeReading = undefined;
		}
	}
}
