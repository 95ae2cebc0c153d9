import type {ExecutorLoad} from '../protocol/relay/executor-offer.js';
import {EXECUTOR_DRAINING, EXECUTOR_FULL} from '../protocol/relay/refusal-reasons.js';
import type {PlacedClient, PlacedSlots} from '../transports/node/relay/executor-link.js';

/** Reports of the load follow each other after this time at the earliest: a client may start thousands of processes in a second. */
export const MIN_REPORT_INTERVAL_MS = 10;

/** The session of a client, which may be resumed over another connection. */
export interface SlotSession {
	readonly isAttached: boolean;
	/** It cannot be resumed any more. */
	readonly isEnded: boolean;
	/** Whether a process that it drives is starting or running. */
	readonly isDriving: boolean;
}

/** The part of a connection that slots depend on. */
export interface SlotClient {
	readonly isDriving: boolean;
	/** Undefined before its handshake, and where there are no sessions. */
	readonly openSession?: SlotSession | undefined;
	readonly lifetime: {add(cancel: () => void): unknown};
}

/** State of a client that a pool has sent. */
type Place =
	| {readonly kind: 'entering'}
	| {readonly kind: 'connected'; readonly client: SlotClient}
	/** Its connection is gone; it may come back by the name of the machine. */
	| {readonly kind: 'left'; readonly session: SlotSession};

export interface SlotsOptions {
	readonly limit: number;
	/** Processes of all clients that are starting or running; `changed` has to be called for every change. */
	readonly runningProcesses: () => number;
	/** The load may have changed. */
	readonly onChange: () => void;
}

/**
 * Slots of an executor. One is taken by every running process, whoever started it, and by every client that a pool has
 * sent as long as it drives none. Only clients that a pool sends are refused: those who name the machine know what they want.
 */
export class Slots implements PlacedSlots {
	readonly #options: SlotsOptions;
	readonly #places = new Map<PlacedClient, Place>();
	#arrivals = 0;
	#isDraining = false;
	#report: NodeJS.Timeout | undefined;
	/** Time of the last report, monotonic. */
	#reportedAt = Number.NEGATIVE_INFINITY;

	constructor(options: SlotsOptions) {
		this.#options = options;
	}

	get used(): number {
		let idle = 0;
		for (const [client, place] of this.#places) {
			if (place.kind === 'left' && place.session.isEnded) this.#places.delete(client);
			else if (takesSlot(place)) idle++;
		}
		return this.#options.runningProcesses() + idle;
	}

	get load(): ExecutorLoad {
		return {used: this.used, arrivals: this.#arrivals, state: this.#isDraining ? 'draining' : 'open'};
	}

	take(): PlacedClient | string {
		this.#arrivals++;
		const refusal = this.#isDraining ? EXECUTOR_DRAINING : EXECUTOR_FULL;
		const isRefused = this.#isDraining || this.used >= this.#options.limit;
		const client = {leave: () => this.#leave(client)};
		if (!isRefused) this.#places.set(client, {kind: 'entering'});
		this.changed();
		return isRefused ? refusal : client;
	}

	/** A client is in. Its place, if a pool has sent it, is left with its connection; another one may have resumed a session that has one. */
	join(client: SlotClient, place?: PlacedClient): void {
		if (place && this.#places.has(place)) this.#places.set(place, {kind: 'connected', client});
		client.lifetime.add(() => (place ? place.leave() : this.changed()));
	}

	/** Has the load told, once everything that happens now is done: a session is left after the connection of its client. */
	changed(): void {
		const waitMs = Math.max(0, this.#reportedAt + MIN_REPORT_INTERVAL_MS - performance.now());
		this.#report ??= setTimeout(() => this.#tell(), waitMs).unref();
	}

	/** No more clients are taken; those that are here go on. */
	drain(): void {
		this.#isDraining = true;
		this.#tell();
	}

	#tell(): void {
		clearTimeout(this.#report);
		this.#report = undefined;
		this.#reportedAt = performance.now();
		this.#options.onChange();
	}

	#leave(client: PlacedClient): void {
		const place = this.#places.get(client);
		const session = place?.kind === 'connected' ? place.client.openSession : undefined;
		if (session) this.#places.set(client, {kind: 'left', session});
		else this.#places.delete(client);
		this.changed();
	}
}

/** Processes are counted by themselves. */
function takesSlot(place: Place): boolean {
	switch (place.kind) {
		case 'entering':
			return true;
		case 'connected':
			return !place.client.isDriving;
		case 'left':
			return place.session.isAttached && !place.session.isDriving;
	}
}
