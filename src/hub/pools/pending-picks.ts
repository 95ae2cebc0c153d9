import type {ExecutorLoad} from '../../protocol/relay/executor-offer.js';
import {findSurplus} from '../../shared/fair-share.js';

/** How long a client that was sent to an executor counts before the executor has told of it. A client that comes later may find no room. */
export const PENDING_PICK_MS = 2000;

/** Answer of an executor's node to a pick: `gone` also for an executor that takes nobody because it is about to end. */
export type PickAnswer = 'picked' | 'full' | 'gone';

interface PendingPick {
	/** Id of the token of the client. */
	readonly tokenId: string;
	/** Monotonic time at which the client stops to count. */
	readonly until: number;
}

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
	/** In the order they were sent. */
	readonly #pending: PendingPick[] = [];
	/** Clients that had arrived at the executor when it was last looked at. */
	#arrivals = 0;

	/**
	 * Counts one more client if the executor has fewer than `slots` slots in use. A token whose clients are asked for and do not
	 * come cannot keep those of other tokens out: theirs count instead.
	 */
	pick(executor: PickedExecutor, slots: number, tokenId: string): PickAnswer {
		if (executor.load?.state === 'draining') return 'gone';
		this.#forget(executor.load?.arrivals ?? 0);
		if (slotsInUse(executor.load, executor.streams.size) + this.#pending.length >= slots) {
			const surplus = findSurplus(this.#pending, pick => pick.tokenId, tokenId);
			if (!surplus) return 'full';
			this.#pending.splice(this.#pending.indexOf(surplus), 1);
		}
		this.#pending.push({tokenId, until: performance.now() + PENDING_PICK_MS});
		return 'picked';
	}

	#forget(arrivals: number): void {
		// Clients that have arrived are part of the load now.
		this.#pending.splice(0, Math.max(0, arrivals - this.#arrivals));
		this.#arrivals = arrivals;
		const now = performance.now();
		while (this.#pending.length > 0 && this.#pending[0]!.until <= now) this.#pending.shift();
	}
}

/** Slots in use by the account of the executor; before its first word, the streams that are open. */
export function slotsInUse(load: ExecutorLoad | undefined, streams: number): number {
	return load?.used ?? streams;
}
