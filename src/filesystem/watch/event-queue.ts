import {readFileSync} from 'node:fs';

/** What Linux queues for a program before it drops events, unless it says otherwise. */
const USUAL_QUEUE_EVENTS = 16_384;

/** Called when events may have been dropped. */
type Dropped = () => void;

const listeners = new Set<Dropped>();
let limit: number | undefined;
let inThisTurn = 0;

/**
 * Notices that the system has dropped events. It says so itself, but the runtime does not pass that on. The queue is
 * always emptied in one turn of the event loop, and only a full one drops events: a turn that brought half as many
 * events as fit may have followed a full queue, since those for closed watchers are not counted here.
 */
export function countEvent(): void {
	if (inThisTurn++ === 0) setImmediate(endTurn);
}

/** Returns the function that ends listening. */
export function onDropped(dropped: Dropped): () => void {
	// The same function may listen twice.
	const listener = () => dropped();
	listeners.add(listener);
	return () => listeners.delete(listener);
}

function endTurn(): void {
	limit ??= queueEvents() / 2;
	const dropped = inThisTurn >= limit;
	inThisTurn = 0;
	if (dropped) for (const listener of listeners) listener();
}

function queueEvents(): number {
	try {
		return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1')) || USUAL_QUEUE_EVENTS;
	} catch {
		return USUAL_QUEUE_EVENTS;
	}
}
