/** A connection whose reading can be paused. */
export interface PausableConnection {
	/** Reads nothing more until the returned function is called. */
	holdReading(): () => void;
}

/** Pauses reading while any process asks for it, over as many connections as there are one after the other. */
export class ReadPauser {
	/** Number of `pause()` calls without their `resume()`. */
	#pauses = 0;
	#connection: PausableConnection | undefined;
	#resumeReading: (() => void) | undefined;

	/** The connection in use from now on; without one nothing is paused, and the pauses are kept for the next. */
	use(connection: PausableConnection | undefined): void {
		this.#resumeReading?.();
		this.#resumeReading = undefined;
		this.#connection = connection;
		this.#balance();
	}

	pause(): void {
		this.#pauses++;
		this.#balance();
	}

	resume(): void {
		this.#pauses--;
		this.#balance();
	}

	#balance(): void {
		if (this.#pauses > 0) this.#resumeReading ??= this.#connection?.holdReading();
		else {
			this.#resumeReading?.();
			this.#resumeReading = undefined;
		}
	}
}
