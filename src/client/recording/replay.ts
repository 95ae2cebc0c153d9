import {Deferred} from '../../shared/async/deferred.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import type {RecordedEntry} from './recording.js';

/** Time that a replay may be late and still makes up for: behind a longer stop it goes on at its pace. */
export const MAX_MADE_UP_MS = 1000;

/** Clock of a replay. */
export interface ReplayClock {
	/** Milliseconds since any moment; never goes backwards. */
	now(): number;
	/** Rejects when the signal aborts. */
	sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface ReplayOptions {
	/** Takes the output; the next one waits for it. */
	readonly write: (bytes: Uint8Array) => void | Promise<void>;
	/** Called for every other entry at its time. */
	readonly other?: (entry: Exclude<RecordedEntry, {kind: 'output'}>) => void | Promise<void>;
	/** Factor of the pace; 2 is twice as fast. */
	readonly speed?: number | undefined;
	/** Times without an entry are cut to this, before the factor. */
	readonly idleLimitMs?: number | undefined;
	readonly clock?: ReplayClock;
	readonly signal?: AbortSignal | undefined;
}

/** Passes on the entries of a recording at their times. Rejects with the reason of the signal when that aborts. */
export async function replay(
	entries: AsyncIterable<RecordedEntry> | Iterable<RecordedEntry>,
	{write, other, speed = 1, idleLimitMs = Number.POSITIVE_INFINITY, clock = REAL_CLOCK, signal}: ReplayOptions,
): Promise<void> {
	if (!(speed > 0)) throw new RangeError('the speed has to be above zero');
	let lastMs: number | undefined;
	let dueAt = clock.now();
	for await (const entry of entries) {
		signal?.throwIfAborted();
		const gapMs = Math.max(entry.ms - (lastMs ?? entry.ms), 0);
		lastMs = Math.max(entry.ms, lastMs ?? entry.ms);
		dueAt = Math.max(dueAt + Math.min(gapMs, idleLimitMs) / speed, clock.now() - MAX_MADE_UP_MS);
		const waitMs = dueAt - clock.now();
		if (waitMs > 0) await clock.sleep(waitMs, signal);
		await (entry.kind === 'output' ? write(entry.bytes) : other?.(entry));
	}
}

const REAL_CLOCK: ReplayClock = {
	now: () => performance.now(),
	async sleep(ms, signal) {
		await waitAtMost(new Deferred().promise, ms, signal);
		signal?.throwIfAborted();
	},
};
