import {Mutex} from '../../shared/async/mutex.js';
import {Checkpoints} from './checkpoints.js';
import type {FeedTurn} from './feed-turns.js';
import {isNotAfter, ScreenFeed, type ScreenTarget} from './screen-feed.js';
import type {ScreenSource} from './screen-source.js';
import type {ScreenFormat} from './screen-text.js';
import type {ScreenPicture} from './terminal-model.js';

/** The screen of a process at some moment. */
export interface ScreenResult extends ScreenPicture {
	/** Number of the last event that is shown. */
	readonly seq: number;
	/** Output before that is not kept: the screen was drawn without it. */
	readonly missedBytes?: number;
}

interface Drawing {
	readonly source: ScreenSource;
	readonly target: ScreenTarget;
	readonly format: ScreenFormat;
	readonly turn: FeedTurn;
	readonly signal: AbortSignal | undefined;
}

/** The model of one process's terminal, as far as the output was read, and checkpoints for earlier moments. */
export class KeptScreen {
	/** Requests for one process use its model one after the other. */
	readonly mutex = new Mutex();
	readonly #spacingBytes: number;
	#checkpoints: Checkpoints;
	#live: ScreenFeed | undefined;

	constructor(spacingBytes: number) {
		this.#spacingBytes = spacingBytes;
		this.#checkpoints = new Checkpoints(spacingBytes);
	}

	/** Cells of the model; 0 while there is none. */
	get cells(): number {
		return this.#live?.model.cells ?? 0;
	}

	get checkpointCount(): number {
		return this.#checkpoints.count;
	}

	async draw({source, target, format, turn, signal}: Drawing): Promise<ScreenResult> {
		const feed = await this.#startFor(source, target);
		try {
			const passed = this.#checkpointer(feed);
			const gapBytes = await feed.advance({source, target, turn, signal, passed});
			const {seq, missedBytes} = feed.position;
			const missed = missedBytes + gapBytes;
			return {...feed.model.draw(format), seq, ...(missed > 0 && {missedBytes: missed})};
		} finally {
			this.#keepFurther(feed);
		}
	}

	/** Frees the model; its state is kept as a checkpoint where that is possible. */
	async suspend(): Promise<void> {
		const live = this.#live;
		if (!live) return;
		this.#live = undefined;
		const checkpoint = live.capture();
		live.dispose();
		const captured = await checkpoint;
		if (captured) this.#checkpoints.add(captured);
	}

	/** Frees everything. */
	clear(): void {
		this.#live?.dispose();
		this.#live = undefined;
		this.#checkpoints = new Checkpoints(this.#spacingBytes);
	}

	/** The model that has the shortest way to the target. */
	async #startFor(source: ScreenSource, target: ScreenTarget): Promise<ScreenFeed> {
		const live = this.#live;
		const checkpoint = this.#checkpoints.findLast(position => isNotAfter(position, target));
		const isLiveUsable = live !== undefined && isNotAfter(live.position, target);
		if (isLiveUsable && live.position.bytes >= (checkpoint?.position.bytes ?? 0)) return live;
		return checkpoint ? ScreenFeed.fromCheckpoint(checkpoint) : ScreenFeed.fromStart(source.initialSize);
	}

	/** Makes a checkpoint whenever one is due. */
	#checkpointer(feed: ScreenFeed): () => Promise<void> | undefined {
		let checkAt = feed.position.bytes + this.#spacingBytes;
		const keep = async (): Promise<void> => {
			const checkpoint = await feed.capture();
			// In the middle of a sequence there is none: the next event may end it.
			if (!checkpoint) return;
			this.#checkpoints.add(checkpoint);
			checkAt = feed.position.bytes + this.#spacingBytes;
		};
		return () => {
			const {position} = feed;
			if (position.bytes < checkAt) return undefined;
			if (this.#checkpoints.isDueAt(position)) return keep();
			checkAt = position.bytes + this.#spacingBytes;
			return undefined;
		};
	}

	/** The model that is further on serves requests for the present. */
	#keepFurther(feed: ScreenFeed): void {
		if (feed === this.#live) return;
		if (this.#live && this.#live.position.bytes > feed.position.bytes) {
			feed.dispose();
			return;
		}
		this.#live?.dispose();
		this.#live = feed;
	}
}
