import {FairPlaces, type PlaceOwner} from '../../shared/async/fair-places.js';
import {MAX_ACTIVE_JOBS} from './hub-jobs.js';

/** Jobs that run on this hub, a bounded number at once, which tenants and tokens share. */
export class ActiveJobs {
	readonly #places = new FairPlaces(MAX_ACTIVE_JOBS);
	readonly #running = new Set<Promise<void>>();

	/** `run` must not reject. It is called at once if there is a place. */
	start(owner: PlaceOwner, run: () => Promise<void>): void {
		const running = this.#places.run(owner, run).finally(() => this.#running.delete(running));
		this.#running.add(running);
	}

	/** Settles when all have ended. */
	async close(): Promise<void> {
		await Promise.allSettled(this.#running);
	}
}
