/** Time between two drawings. */
const DRAW_INTERVAL_MS = 100;
const DEFAULT_COLUMNS = 80;
const CLEAR = '\r\u001B[K';

/** Terminal output. */
export interface ProgressScreen {
	readonly columns?: number | undefined;
	write(text: string): unknown;
}

export interface ProgressClock {
	now(): number;
	/** Calls `tick` repeatedly until the returned function is called. */
	every(ms: number, tick: () => void): () => void;
}

export const SYSTEM_CLOCK: ProgressClock = {
	now: () => performance.now(),
	every: (ms, tick) => {
		const timer = setInterval(tick, ms);
		timer.unref();
		return () => clearInterval(timer);
	},
};

/** One line on a terminal, drawn again and again until it is ended. */
export class StatusLine {
	readonly #screen: ProgressScreen;
	readonly #render: (width: number) => string;
	readonly #stop: () => void;
	#isDrawn = false;

	/** `render` makes a line of at most so many columns. */
	constructor(screen: ProgressScreen, render: (width: number) => string, clock: ProgressClock = SYSTEM_CLOCK) {
		this.#screen = screen;
		this.#render = render;
		this.#stop = clock.every(DRAW_INTERVAL_MS, () => this.#draw());
	}

	/** Writes whole lines above it. */
	writeAbove(text: string): void {
		this.#clear();
		this.#screen.write(text);
	}

	end(): void {
		this.#stop();
		this.#clear();
	}

	#draw(): void {
		// The last column stays free: some terminals begin a new line when it is filled.
		const width = (this.#screen.columns ?? DEFAULT_COLUMNS) - 1;
		this.#screen.write(`${CLEAR}${this.#render(width)}`);
		this.#isDrawn = true;
	}

	#clear(): void {
		if (this.#isDrawn) this.#screen.write(CLEAR);
		this.#isDrawn = false;
	}
}
