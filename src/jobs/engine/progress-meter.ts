import type {ItemTable} from '../store/item-table.js';
import type {JobProgress} from './job-events.js';

/** Shortest time between two reports, except the first and the last. */
const MIN_INTERVAL_MS = 100;

/** Tells how far a job is: on change, at most ten times per second. */
export class ProgressMeter {
	readonly #jobId: string;
	readonly #table: ItemTable;
	readonly #tell: (progress: JobProgress) => void;
	readonly #startedAt = performance.now();
	readonly #doneBefore: number;
	#toldAt = Number.NEGATIVE_INFINITY;
	#timer: NodeJS.Timeout | undefined;

	constructor(jobId: string, table: ItemTable, tell: (progress: JobProgress) => void) {
		this.#jobId = jobId;
		this.#table = table;
		this.#tell = tell;
		this.#doneBefore = countDone(table);
	}

	/** Something changed. */
	touch(): void {
		if (this.#timer) return;
		const waitMs = this.#toldAt + MIN_INTERVAL_MS - performance.now();
		if (waitMs <= 0) return this.force();
		this.#timer = setTimeout(() => this.force(), waitMs);
	}

	force(): void {
		this.stop();
		this.#toldAt = performance.now();
		this.#tell(this.#read());
	}

	/** Tells nothing more by itself. */
	stop(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	#read(): JobProgress {
		const {pending, running, completed, failed} = this.#table.counts;
		const elapsedMs = performance.now() - this.#startedAt;
		const done = countDone(this.#table) - this.#doneBefore;
		const rate = elapsedMs > 0 ? (1000 * done) / elapsedMs : 0;
		const left = pending + running;
		return {
			job_id: this.#jobId,
			total_items: this.#table.total,
			pending_items: pending,
			running_items: running,
			completed_items: completed,
			failed_items: failed,
			eta_seconds: left === 0 ? 0 : rate > 0 ? Math.round(left / rate) : null,
			elapsed_ms: Math.round(elapsedMs),
			rate: Math.round(10 * rate) / 10,
		};
	}
}

function countDone({counts}: ItemTable): number {
	return counts.completed + counts.failed;
}
