import type {TerminalSize} from '../backends/backend.js';
import {type Checkpoint, createCheckpoint, openCheckpoint, type ScreenPosition} from './checkpoints.js';
import type {FeedTurn} from './feed-turns.js';
import type {ScreenEvent, ScreenSource} from './screen-source.js';
import {TerminalModel} from './terminal-model.js';

/**
 * Output that is parsed at once, in bytes: the larger the screen, the less, since the event loop waits for all sequences
 * in it, and the shortest of them change the whole screen.
 */
const MAX_PARSED_BYTES = 1024;
const MIN_PARSED_BYTES = 4;
const MAX_PARSED_BYTES_TIMES_CELLS = 512 * 1024;
/**
 * Time that one event may take, in slices of the event loop: ordinary output takes a hundredth of this. The rest of an
 * event that takes longer is counted as missed.
 */
export const MAX_EVENT_SLICES = 500;

const START: ScreenPosition = {seq: 0, resizes: 0, ms: undefined, bytes: 0, missedBytes: 0};

/** The moment whose screen is asked for. */
export interface ScreenTarget {
	/** Last event to show. */
	readonly seq: number;
	/** Time of the last event to show; undefined for any. */
	readonly ms: number | undefined;
	/** Changes of size right after the last event are shown, too. */
	readonly isPresent: boolean;
}

/** Whether a model that stands there can still show the target. */
export function isNotAfter(position: ScreenPosition, {seq, ms, isPresent}: ScreenTarget): boolean {
	if (ms !== undefined && (position.ms ?? 0) > ms) return false;
	return position.seq < seq || (position.seq === seq && (isPresent || ms !== undefined || position.resizes === 0));
}

interface Advance {
	readonly source: ScreenSource;
	readonly target: ScreenTarget;
	readonly turn: FeedTurn;
	readonly signal: AbortSignal | undefined;
	readonly passed: () => Promise<void> | undefined;
}

/** A model of a terminal and the place in its output where it stands. */
export class ScreenFeed {
	readonly model: TerminalModel;
	#position: ScreenPosition;

	static async fromStart(size: TerminalSize): Promise<ScreenFeed> {
		return new ScreenFeed(await TerminalModel.create(size), START);
	}

	static async fromCheckpoint(checkpoint: Checkpoint): Promise<ScreenFeed> {
		return new ScreenFeed(await TerminalModel.restore(await openCheckpoint(checkpoint)), checkpoint.position);
	}

	private constructor(model: TerminalModel, position: ScreenPosition) {
		this.model = model;
		this.#position = position;
	}

	get position(): ScreenPosition {
		return this.#position;
	}

	/**
	 * Feeds the model with everything up to the target. `passed` is called after every event. An abort of the signal, or a turn
	 * that is used up, leaves the model between two events. Returns the size of a gap that the target is in, which is not passed.
	 */
	async advance({source, target, turn, signal, passed}: Advance): Promise<number> {
		const reader = source.open(this.#position.seq);
		try {
			// Changes of size after the position's event are delivered again.
			let known = this.#position.resizes;
			for (let event = reader.next(); event; event = reader.next()) {
				if (event.kind === 'resize' && known-- > 0) continue;
				known = 0;
				if (!isWanted(event, target)) return event.kind === 'gap' ? event.missedBytes : 0;
				await this.#apply(event, turn);
				await (passed() ?? turn.yieldIfDue());
				signal?.throwIfAborted();
				turn.throwIfUsedUp();
			}
			return 0;
		} finally {
			reader.close();
		}
	}

	/** Undefined in the middle of a sequence. */
	async capture(): Promise<Checkpoint | undefined> {
		const state = this.model.capture();
		return state && createCheckpoint(this.#position, state);
	}

	dispose(): void {
		this.model.dispose();
	}

	async #apply(event: ScreenEvent, turn: FeedTurn): Promise<void> {
		const {resizes, ms, bytes, missedBytes} = this.#position;
		switch (event.kind) {
			case 'resize':
				this.model.resize(event.size);
				this.#position = {...this.#position, resizes: resizes + 1, ms: event.ms ?? ms};
				return;
			case 'gap':
				this.model.cancelSequence();
				this.#position = {
					seq: event.seq,
					resizes: 0,
					ms,
					bytes: bytes + event.missedBytes,
					missedBytes: missedBytes + event.missedBytes,
				};
				return;
			case 'other':
				this.#position = {...this.#position, seq: event.seq, resizes: 0, ms: event.ms ?? ms};
				return;
			case 'output': {
				const {length} = event.bytes;
				const lostBytes = await this.#write(event.bytes, turn);
				this.#position = {
					seq: event.seq,
					resizes: 0,
					ms: event.ms ?? ms,
					bytes: bytes + length,
					missedBytes: missedBytes + lostBytes,
				};
			}
		}
	}

	/** Returns the count of bytes that the parser failed on, or had no time for. */
	async #write(output: Uint8Array, turn: FeedTurn): Promise<number> {
		const fitting = Math.floor(MAX_PARSED_BYTES_TIMES_CELLS / this.model.weight);
		const maxBytes = Math.max(MIN_PARSED_BYTES, Math.min(fitting, MAX_PARSED_BYTES));
		let lostBytes = 0;
		let slices = 0;
		let rest = output;
		while (rest.length > 0) {
			const part = rest.subarray(0, maxBytes);
			rest = rest.subarray(maxBytes);
			try {
				this.model.write(part);
			} catch {
				lostBytes += part.length;
				this.model.cancelSequence();
			}
			const yielded = rest.length > 0 ? turn.yieldIfDue() : undefined;
			if (!yielded) continue;
			if (++slices > MAX_EVENT_SLICES) {
				this.model.cancelSequence();
				await yielded;
				return lostBytes + rest.length;
			}
			// The bytes are borrowed until control returns to the event loop.
			rest = rest.slice();
			await yielded;
		}
		return lostBytes;
	}
}

function isWanted(event: ScreenEvent, {seq, ms, isPresent}: ScreenTarget): boolean {
	if (event.kind === 'gap') return event.seq <= seq;
	if (ms !== undefined && event.ms !== undefined && event.ms > ms) return false;
	return event.seq < seq || (event.seq === seq && (event.kind !== 'resize' || isPresent || ms !== undefined));
}
