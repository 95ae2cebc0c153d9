import type {Logger} from '../../shared/logger.js';

/** Shortest time between two warnings: a disk may be full again as soon as something was removed from it. */
const MIN_WARNING_INTERVAL_MS = 60_000;

/** Processes that wait because the disk of the state directory does not take their output. */
export class DiskWaits {
	readonly #logger: Logger;
	/** Directories of their files. */
	readonly #waiting = new Set<string>();
	#total = 0;
	#warnedAt = Number.NEGATIVE_INFINITY;

	constructor(logger: Logger) {
		this.#logger = logger;
	}

	get waiting(): number {
		return this.#waiting.size;
	}

	/** Times a process began to wait. */
	get total(): number {
		return this.#total;
	}

	/** The output of a process waits for this reason. */
	begin(directory: string, processId: string, reason: string | undefined): void {
		if (this.#waiting.has(directory)) return;
		const isFirst = this.#waiting.size === 0;
		this.#waiting.add(directory);
		this.#total++;
		const now = performance.now();
		if (!isFirst || now - this.#warnedAt < MIN_WARNING_INTERVAL_MS) return;
		this.#warnedAt = now;
		this.#logger.warn('the disk of the state directory takes no more output: processes wait until there is room', {
			process: processId,
			directory,
			reason,
		});
	}

	end(directory: string): void {
		if (!this.#waiting.delete(directory) || this.#waiting.size > 0) return;
		this.#logger.info('the disk of the state directory takes output again');
	}
}
