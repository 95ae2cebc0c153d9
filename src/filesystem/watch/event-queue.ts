import {readFileSync} from 'node:fs';

/** Default length of the inotify queue, beyond which Linux drops events. */
const DEFAULT_QUEUE_EVENTS = 16_384;

/** Called when events may have been lost. */
type DropListener = () => void;

const listeners = new Set<DropListener>();
let suspiciousEvents: number | undefined;
let eventsThisTick = 0;

/**
 * Detects an overflow of the inotify queue, which Node does not report. The queue is always drained in one tick of the
 * event loop, and only a full one drops events. Half of its length is suspicious already, since the events of closed
 * watchers are not counted here.
 */
export function countEvent(): void {
	if (eventsThisTick++ === 0) setImmediate(endTick);
}

/** Adds a listener; returns the function that removes it. */
export function onDropped(dropped: DropListener): () => void {
	// A wrapper of its own, so that the same function may be added twice.
	const listener = () => dropped();
	listeners.add(listener);
	return () => listeners.delete(listener);
}

function endTick(): void {
	suspiciousEvents ??= readQueueLimit() / 2;
	const dropped = eventsThisTick >= suspiciousEvents;
	eventsThisTick = 0;
	if (dropped) for (const listener of listeners) listener();
}

function readQueueLimit(): number {
	try {
		return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1')) || DEFAULT_QUEUE_EVENTS;
	} catch {
		return DEFAULT_QUEUE_EVENTS;
	}
}
