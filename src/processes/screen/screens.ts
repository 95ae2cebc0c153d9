import {LongarmError} from '../../shared/errors.js';
import {CHECKPOINT_SPACING_BYTES} from './checkpoints.js';
import {FeedTurns} from './feed-turns.js';
import {KeptScreen, type ScreenResult} from './kept-screen.js';
import type {ScreenTarget} from './screen-feed.js';
import type {ScreenSource} from './screen-source.js';
import type {ScreenFormat} from './screen-text.js';

/** Models of terminals in memory, and their cells over all; those that were not asked for longest are freed. */
export const MAX_LIVE_MODELS = 16;
export const MAX_LIVE_CELLS = 512 * 1024;
/** Processes whose checkpoints are kept. */
export const MAX_KEPT_SCREENS = 64;
/** A model is freed so long after it was last asked for, and the checkpoints of its process so much later. */
export const MODEL_IDLE_MS = 60_000;
export const CHECKPOINTS_IDLE_MS = 10 * 60_000;

export interface ScreenRequest {
	/** The screen after this event; the present one by default. */
	readonly atSeq?: number | undefined;
	/** The screen at this time, in milliseconds since 1970. */
	readonly atMs?: number | undefined;
	readonly format: ScreenFormat;
	/** Ends the request early; the part that was done is kept for the next. */
	readonly signal?: AbortSignal | undefined;
}

export interface ScreensOptions {
	/** Output between two checkpoints. */
	readonly checkpointSpacingBytes?: number;
	/** Time of one request, in slices of the event loop. */
	readonly maxRequestSlices?: number;
}

/** The screens of processes that were asked for. */
export class Screens {
	readonly #spacingBytes: number;
	readonly #turns: FeedTurns;
	readonly #screens = new WeakMap<object, KeptScreen>();
	/** The least recently used first. */
	readonly #used = new Map<KeptScreen, NodeJS.Timeout>();

	constructor({checkpointSpacingBytes = CHECKPOINT_SPACING_BYTES, maxRequestSlices}: ScreensOptions = {}) {
		this.#turns = new FeedTurns(maxRequestSlices);
		this.#spacingBytes = checkpointSpacingBytes;
	}

	/** Models in memory. */
	get liveModels(): number {
		return [...this.#used.keys()].filter(({cells}) => cells > 0).length;
	}

	/** Checkpoints over all processes. */
	get checkpoints(): number {
		return [...this.#used.keys()].reduce((sum, {checkpointCount}) => sum + checkpointCount, 0);
	}

	async render(source: ScreenSource, {atSeq, atMs, format, signal}: ScreenRequest): Promise<ScreenResult> {
		if (atMs !== undefined && !source.hasTimes) {
			throw new LongarmError('NOT_SUPPORTED', {message: 'only output on disk has the times of a screen'});
		}
		const screen = this.#find(source.key);
		return screen.mutex.run(async () => {
			signal?.throwIfAborted();
			const turn = await this.#turns.enter();
			try {
				const target = toTarget(source, atSeq, atMs);
				return await screen.draw({source, target, format, turn, signal});
			} finally {
				turn.leave();
				this.#recordUse(screen);
			}
		});
	}

	/** Frees everything. */
	clear(): void {
		for (const [screen, timer] of this.#used) {
			clearTimeout(timer);
			screen.clear();
		}
		this.#used.clear();
	}

	#find(key: object): KeptScreen {
		const found = this.#screens.get(key);
		if (found) return found;
		const screen = new KeptScreen(this.#spacingBytes);
		this.#screens.set(key, screen);
		return screen;
	}

	#recordUse(screen: KeptScreen): void {
		clearTimeout(this.#used.get(screen));
		this.#used.delete(screen);
		this.#used.set(
			screen,
			this.#schedule(MODEL_IDLE_MS, () => this.#suspendIdle(screen)),
		);
		this.#freeExcess();
	}

	#suspendIdle(screen: KeptScreen): void {
		this.#suspend(screen);
		this.#used.set(
			screen,
			this.#schedule(CHECKPOINTS_IDLE_MS, () => this.#forget(screen)),
		);
	}

	#freeExcess(): void {
		let models = 0;
		let cells = 0;
		let kept = 0;
		for (const screen of [...this.#used.keys()].reverse()) {
			if (++kept > MAX_KEPT_SCREENS) this.#forget(screen);
			if (screen.cells === 0) continue;
			models++;
			cells += screen.cells;
			if (models > MAX_LIVE_MODELS || (models > 1 && cells > MAX_LIVE_CELLS)) this.#suspend(screen);
		}
	}

	/** After the requests that use it. */
	#suspend(screen: KeptScreen): void {
		if (!screen.mutex.isLocked) void screen.mutex.run(() => screen.suspend());
	}

	#forget(screen: KeptScreen): void {
		if (screen.mutex.isLocked) return;
		clearTimeout(this.#used.get(screen));
		this.#used.delete(screen);
		screen.clear();
	}

	#schedule(ms: number, action: () => void): NodeJS.Timeout {
		return setTimeout(action, ms).unref();
	}
}

function toTarget(source: ScreenSource, atSeq: number | undefined, atMs: number | undefined): ScreenTarget {
	const {lastSeq} = source;
	return {
		seq: Math.min(atSeq ?? lastSeq, lastSeq),
		ms: atMs,
		isPresent: atMs === undefined && (atSeq ?? Number.POSITIVE_INFINITY) > lastSeq,
	};
}
