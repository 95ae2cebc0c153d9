import {type ProgressState, progressLine} from './progress-text.js';
import {type ProgressClock, type ProgressScreen, StatusLine, SYSTEM_CLOCK} from './status-line.js';

/** Time constant of the exponential smoothing. */
const WINDOW_MS = 3000;
/** Samples closer together than this count as one. */
const MIN_STEP_MS = 50;

/** Figures of a line; the rate is that of `moved`, the bytes that were sent. */
export type ProgressFigures = Omit<ProgressState, 'rate'> & {readonly moved: number};

/** Progress line on a terminal: label, bar, figures and rate. */
export class ProgressLine extends StatusLine {
	constructor(screen: ProgressScreen, figures: () => ProgressFigures, clock: ProgressClock = SYSTEM_CLOCK) {
		const rate = new Rate();
		const render = (width: number): string => {
			const {moved, ...state} = figures();
			rate.add(clock.now(), moved);
			return progressLine({...state, rate: rate.perSecond}, width);
		};
		super(screen, render, clock);
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
