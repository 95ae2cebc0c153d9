import {POOL_EMPTY_CODE, POOL_FULL_CODE} from '../../../protocol/relay/placement.js';
import {EXECUTOR_DRAINING, EXECUTOR_FULL} from '../../../protocol/relay/refusal-reasons.js';
import {LongarmError} from '../../../shared/errors.js';
import type {RegistryTarget} from '../registry-scheme.js';
import {HandshakeRefusedError} from './connect-harness.js';
import {RegistryError} from './registry-errors.js';

/** How long the executor of a target may be unreachable before the hub is asked for another one; longer than clients try to resume. */
export const PLACEMENT_KEPT_MS = 50_000;
const REFUSALS: ReadonlySet<string | undefined> = new Set([EXECUTOR_FULL, EXECUTOR_DRAINING]);

interface Placed {
	readonly environmentId: string;
	/** Of the first failed attempt since it was reached; monotonic. */
	failingSince: number | undefined;
}

/** Executors that hubs have chosen, by target: a lost connection is made again to the same one, which has the session. */
export class PlacedTargets {
	readonly #placed = new WeakMap<RegistryTarget, Placed>();

	find(target: RegistryTarget): string | undefined {
		return this.#placed.get(target)?.environmentId;
	}

	/** A client of the target was let in. */
	note(target: RegistryTarget, environmentId: string): void {
		this.#placed.set(target, {environmentId, failingSince: undefined});
	}

	/** An attempt has failed; true if the executor was given up, so that the next attempt is for any of them. */
	noteFailure(target: RegistryTarget): boolean {
		const placed = this.#placed.get(target);
		if (!placed) return false;
		placed.failingSince ??= performance.now();
		if (performance.now() - placed.failingSince < PLACEMENT_KEPT_MS) return false;
		return this.#placed.delete(target);
	}
}

/** Whether there was no executor with room: at the hub, or by the time the client reached the one that was chosen. */
export function isPoolRefusal(error: unknown): boolean {
	if (error instanceof HandshakeRefusedError) return REFUSALS.has(error.reason);
	return error instanceof RegistryError && (error.code === POOL_FULL_CODE || error.code === POOL_EMPTY_CODE);
}

/** `POOL_FULL` or `POOL_EMPTY` for such an error; any other as it is. */
export function toPoolError(error: unknown, selector: string): unknown {
	if (!isPoolRefusal(error)) return error;
	const isEmpty = error instanceof RegistryError && error.code === POOL_EMPTY_CODE;
	const message = isEmpty
		? `no machine of ${selector} is connected to the hub, or none that this token is good for`
		: `every machine of ${selector} is full`;
	return new LongarmError(isEmpty ? 'POOL_EMPTY' : 'POOL_FULL', {message, context: {selector}, cause: error});
}
