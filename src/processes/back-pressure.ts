import type {Child} from './backends/backend.js';
import type {OutputLog} from './output/output-log.js';
import type {OutputBlock} from './output/output-spill.js';
import type {RetentionBudget} from './output/retention-budget.js';

/** Back-pressure: high and low water mark of output the driver has yet to deliver. */
export const PAUSE_ABOVE_BYTES = 256 * 1024;
export const RESUME_BELOW_BYTES = 64 * 1024;
/** High-water marks of output its reader has yet to acknowledge; the low ones are half of them. */
export const MAX_UNACKNOWLEDGED_BYTES = 1024 * 1024;
export const MAX_UNACKNOWLEDGED_CHUNKS = 4096;
/** The same in bytes when all processes together retain much. */
export const TIGHT_UNACKNOWLEDGED_BYTES = 512 * 1024;
/** Time a child is paused for its reader before that is reported: short pauses are part of every flood. */
const MIN_REPORTED_PAUSE_MS = 1000;

/**
 * Pauses a child while the driver of its log, or the reader that acknowledges, is too far behind. With output on disk
 * nobody is waited for but the disk.
 */
export class BackPressure {
	readonly #log: OutputLog;
	readonly #budget: RetentionBudget | undefined;
	/** Nothing is read from the child, whatever its readers say. */
	#isHeld = false;
	/** Too much is unacknowledged, until half of it is left: a mark of its own, apart from that of the connection. */
	#waitsForReader = false;
	#pausedAt: number | undefined;
	#pausedMs: number;

	constructor(log: OutputLog, budget: RetentionBudget | undefined, pausedMs = 0) {
		this.#log = log;
		this.#budget = budget;
		this.#pausedMs = pausedMs;
	}

	/** Total time the child was paused. */
	get pausedMs(): number {
		return this.#pausedMs + (this.#pausedAt === undefined ? 0 : performance.now() - this.#pausedAt);
	}

	/** Reason why the child is paused: that of its output on disk, or a reader that does not take its output. */
	get pausedFor(): OutputBlock | 'reader' | undefined {
		if (this.#pausedAt === undefined) return undefined;
		const {spill} = this.#log;
		if (spill) return spill.blockedOn;
		return performance.now() - this.#pausedAt >= MIN_REPORTED_PAUSE_MS ? 'reader' : undefined;
	}

	/** Call after every event and whenever a reader has moved. */
	apply(child: Child): void {
		const {spill, driverBacklogBytes: pending} = this.#log;
		if (spill) {
			this.#pause(child, spill.isBlocked);
			return;
		}
		const unacknowledged = this.#unacknowledgedShare();
		if (unacknowledged > 1) this.#waitsForReader = true;
		else if (unacknowledged <= 1 / 2) this.#waitsForReader = false;
		if (pending > PAUSE_ABOVE_BYTES || this.#waitsForReader) this.#pause(child, true);
		else if (pending <= RESUME_BELOW_BYTES) this.#pause(child, false);
	}

	/** Reads nothing from the child until the returned function is called. */
	hold(child: Child): () => void {
		this.#isHeld = true;
		child.pause();
		return () => {
			this.#isHeld = false;
			if (this.#pausedAt === undefined) child.resume();
		};
	}

	/** The child has no more output. */
	end(): void {
		this.#pausedMs = this.pausedMs;
		this.#pausedAt = undefined;
	}

	#pause(child: Child, isPaused: boolean): void {
		if (isPaused === (this.#pausedAt !== undefined)) return;
		if (isPaused) {
			this.#pausedAt = performance.now();
			child.pause();
		} else {
			this.end();
			if (!this.#isHeld) child.resume();
		}
	}

	/** Output to be acknowledged, as a share of the most that is retained for it; less when all processes retain much. */
	#unacknowledgedShare(): number {
		const {unacknowledged} = this.#log;
		if (!unacknowledged) return 0;
		const maxBytes = this.#budget?.isTight === true ? TIGHT_UNACKNOWLEDGED_BYTES : MAX_UNACKNOWLEDGED_BYTES;
		return Math.max(unacknowledged.bytes / maxBytes, unacknowledged.chunks / MAX_UNACKNOWLEDGED_CHUNKS);
	}
}
