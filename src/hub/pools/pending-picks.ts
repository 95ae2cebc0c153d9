import type {ExecutorLoad} from '../../protocol/relay/executor-offer.js';

/** How long a client that was sent to an executor counts before the executor has told of it. A client that comes later may find no room. */
export const PENDING_PICK_MS = 2000;

/** Answer of an executor's node to a pick: `gone` also for an executor that takes nobody because it is about to end. */
export type PickAnswer = 'picked' | 'full' | 'gone';

/** The part of a connected executor that decides about a pick. */
export interface PickedExecutor {
	/** Undefined until it has told its load. */
	readonly load: ExecutorLoad | undefined;
	readonly streams: {readonly size: number};
}

/**
 * Clients that were sent to an executor and are not part of its load yet. The node that the executor is connected to has
 * them, so that every node counts alike. An estimate all the same: the executor itself refuses one too many.
 */
export class PendingPicks {
	/** Times at which clients stop to count, monotonic, in the order they were sent. */
	readonly #until: number[] = [];
	/** Clients that had arrived at the executor when it was last looked at. */
	#arrivals = 0;

	/** Counts one more client if the executor has fewer than `slots` slots in use. */
	pick(executor: PickedExecutor, slots: number): PickAnswer {
		if (executor.load?.state === 'draining') return 'gone';
		this.#forget(executor.load?.arrivals ?? 0);
		if (slotsInUse(executor.load, executor.streams.size) + this.#until.length >= slots) return 'full';
		this.#until.push(performance.now() + PENDING_PICK_MS);
		return 'picked';
	}

	#forget(arrivals: number): void {
		// Clients that have arrived are part of the load now.
		this.#until.splice(0, Math.max(0, arrivals - this.#arrivals));
		this.#arrivals = arrivals;
		const now = performance.now();
		while (this.#until.length > 0 && this.#until[0]! <= now) this.#until.shift();
	}
}

/** Slots in use by the account of the executor; before its first word, the streams that are open. */
export function slotsInUse(load: ExecutorLoad | undefined, streams: number): number {
	return load?.used ?? streams;
}
