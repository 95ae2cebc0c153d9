import {Semaphore} from '../../shared/async/semaphore.js';
import {MAX_ACTIVE_JOBS} from './hub-jobs.js';

/** Jobs that run on this hub, a bounded number at once; the others wait in the order in which they came. */
export class ActiveJobs {
	readonly #places = new Semaphore(MAX_ACTIVE_JOBS);
	readonly #running = new Set<Promise<void>>();

	/** `run` must not reject. */
	start(run: () => Promise<void>): void {
		const running = this.#places.run(run).finally(() => this.#running.delete(running));
		this.#running.add(running);
	}

	/** Settles when all have ended. */
	async close(): Promise<void> {
		await Promise.allSettled(this.#running);
	}
}
