import {type ProgressState, progressLine} from './progress-text.js';

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

const SYSTEM_CLOCK: ProgressClock = {
	now: () => performance.now(),
	every: (ms, tick) => {
		const timer = setInterval(tick, ms);
		timer.unref();
		return () => clearInterval(timer);
	},
};
/** Time constant of the exponential smoothing. */
const WINDOW_MS = 3000;
/** Samples closer together than this count as one. */
const MIN_STEP_MS = 50;

/** Figures of a line; the rate is that of `moved`, the bytes that were sent. */
export type ProgressFigures = Omit<ProgressState, 'rate'> & {readonly moved: number};

/** Progress line on a terminal, drawn again and again until it is ended. */
export class ProgressLine {
	readonly #screen: ProgressScreen;
	readonly #clock: ProgressClock;
	readonly #figures: () => ProgressFigures;
	readonly #rate = new Rate();
	readonly #stop: () => void;
	#isDrawn = false;

	constructor(screen: ProgressScreen, figures: () => ProgressFigures, clock: ProgressClock = SYSTEM_CLOCK) {
		this.#screen = screen;
		this.#figures = figures;
		this.#clock = clock;
		this.#stop = clock.every(DRAW_INTERVAL_MS, () => this.#draw());
	}

	/** Writes whole lines above the progress line. */
	writeAbove(text: string): void {
		this.#clear();
		this.#screen.write(text);
	}

	end(): void {
		this.#stop();
		this.#clear();
	}

	#draw(): void {
		const {moved, ...state} = this.#figures();
		this.#rate.add(this.#clock.now(), moved);
		// The last column stays free: some terminals begin a new line when it is filled.
		const width = (this.#screen.columns ?? DEFAULT_COLUMNS) - 1;
		this.#screen.write(`${CLEAR}${progressLine({...state, rate: this.#rate.perSecond}, width)}`);
		this.#isDrawn = true;
	}

	#clear(): void {
		if (this.#isDrawn) this.#screen.write(CLEAR);
		this.#isDrawn = false;
	}
}

/** Smoothed rate of a growing number. */
export class Rate {
	#last: {readonly at: number; readonly value: number} | undefined;
	#perMs: number | undefined;

	add(at: number, value: number): void {
		this.#last ??= {at, value};
		const elapsed = at - this.#last.at;
		if (elapsed < MIN_STEP_MS) return;
		const now = (value - this.#last.value) / elapsed;
		const weight = 1 - Math.exp(-elapsed / WINDOW_MS);
		this.#perMs = this.#perMs === undefined ? now : this.#perMs + weight * (now - this.#perMs);
		this.#last = {at, value};
	}

	/** Undefined until there are two samples. */
	get perSecond(): number | undefined {
		return this.#perMs === undefined ? undefined : this.#perMs * 1000;
	}
}
