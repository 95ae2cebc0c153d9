import type {Result} from '../../protocol/methods/method-table.js';
import type {NumberedEvent} from '../process/process-handle.js';

/** Output the server retained while the client was disconnected. */
export type RetainedPage = Result<'process/read'>;

/** Events of a process the client has received already. */
export interface KnownEvents {
	/** Sequence number of the last published event. */
	readonly published: number;
	readonly hasExited: boolean;
	/** True if an event of this number was received, published or not. */
	has(seq: number): boolean;
}

export interface CaughtUp {
	readonly events: readonly NumberedEvent[];
	/** Events up to this number are lost; undefined when none is. */
	readonly lostThrough: number | undefined;
}

/** The retained page contradicts itself, or earlier events. */
export class ReconcileError extends Error {
	override readonly name = 'ReconcileError';
}

/**
 * Reconstructs missed events from retained output. Exit and close have sequence numbers, too, but a page does not
 * include them: the close has the last number, the exit the one that no output has. Evicted output leaves a gap at the
 * beginning.
 */
export function reconcile(known: KnownEvents, page: RetainedPage): CaughtUp {
	const target = page.nextSeq - 1;
	if (target <= known.published) return {events: [], lostThrough: undefined};
	const events = new Map<number, NumberedEvent>();
	for (const {seq, stream, chunk} of page.chunks) {
		if (seq > target) throw new ReconcileError(`output ${seq} is beyond sequence ${target}`);
		events.set(seq, {kind: 'output', seq, stream, bytes: chunk});
	}
	if (page.closed) {
		if (events.has(target)) throw new ReconcileError(`sequence ${target} is output and close at once`);
		events.set(target, {kind: 'closed', seq: target});
	}
	const missing = findMissingSeqs(known, events, target);
	const exitSeq = page.exited && !known.hasExited ? missing.pop() : undefined;
	if (exitSeq !== undefined) events.set(exitSeq, toExitEvent(exitSeq, page));
	else if (page.exited && !known.hasExited) throw new ReconcileError('the exit has no number');
	return {
		events: [...events.values()].sort((one, other) => one.seq - other.seq),
		lostThrough: findGapEnd(known, missing),
	};
}

/**
 * The same for a page of limited size, which ends with its last chunk, while its flags describe the process as it is.
 * Undefined if an exit may be among the missing events: only the rest of the output tells which of them it is.
 */
export function reconcilePage(known: KnownEvents, page: RetainedPage): CaughtUp | undefined {
	const target = page.chunks.at(-1)?.seq ?? 0;
	const events = new Map<number, NumberedEvent>();
	for (const {seq, stream, chunk} of page.chunks) events.set(seq, {kind: 'output', seq, stream, bytes: chunk});
	const missing = findMissingSeqs(known, events, target);
	if (missing.length > 0 && page.exited && !known.hasExited) return undefined;
	return {events: [...events.values()], lostThrough: findGapEnd(known, missing)};
}

function findMissingSeqs(known: KnownEvents, events: ReadonlyMap<number, NumberedEvent>, target: number): number[] {
	const missing: number[] = [];
	for (let seq = known.published + 1; seq <= target; seq++) if (!events.has(seq) && !known.has(seq)) missing.push(seq);
	return missing;
}

function toExitEvent(seq: number, {exitCode, sandboxDenied}: RetainedPage): NumberedEvent {
	if (exitCode === null) throw new ReconcileError('the process has exited without a code');
	return {kind: 'exited', seq, exitCode, sandboxDenied, reason: undefined};
}

/** Eviction drops the oldest output first, so the gap is contiguous and at the beginning; any other gap is an error. */
function findGapEnd({published}: KnownEvents, missing: readonly number[]): number | undefined {
	const last = missing.at(-1);
	if (last === undefined) return undefined;
	if (last - published === missing.length) return last;
	throw new ReconcileError(`process events are no longer retained while recovering through sequence ${last}`);
}
