import type {Result} from '../../protocol/methods/method-table.js';
import type {NumberedEvent} from '../process/process-handle.js';

/** What the server has kept of a process while nobody was connected. */
export type RetainedPage = Result<'process/read'>;

/** What is known of a process already. */
export interface Known {
	/** The number that was published last. */
	readonly published: number;
	readonly hasExited: boolean;
	/** Whether an event of this number is here, published or not. */
	has(seq: number): boolean;
}

export interface CaughtUp {
	readonly events: readonly NumberedEvent[];
	/** Events up to this number are gone for good; undefined when none is. */
	readonly lostThrough: number | undefined;
}

/** The server's answer contradicts itself, or what was said before. */
export class ReconcileError extends Error {
	override readonly name = 'ReconcileError';
}

/**
 * Makes the events that were missed of the output the server still has. Exit and close have numbers too, but a page
 * does not tell them: the close is the last one, the exit the one that no output has. Output that is no longer kept
 * leaves a gap at the beginning.
 */
export function reconcile(known: Known, page: RetainedPage): CaughtUp {
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
	const missing = missingNumbers(known, events, target);
	const exitSeq = page.exited && !known.hasExited ? missing.pop() : undefined;
	if (exitSeq !== undefined) events.set(exitSeq, exitAt(exitSeq, page));
	else if (page.exited && !known.hasExited) throw new ReconcileError('the exit has no number');
	return {events: [...events.values()].sort((one, other) => one.seq - other.seq), lostThrough: gapEnd(known, missing)};
}

function missingNumbers(known: Known, events: ReadonlyMap<number, NumberedEvent>, target: number): number[] {
	const missing: number[] = [];
	for (let seq = known.published + 1; seq <= target; seq++) if (!events.has(seq) && !known.has(seq)) missing.push(seq);
	return missing;
}

function exitAt(seq: number, {exitCode, sandboxDenied}: RetainedPage): NumberedEvent {
	if (exitCode === null) throw new ReconcileError('the process has exited without a code');
	return {kind: 'exited', seq, exitCode, sandboxDenied, reason: undefined};
}

/** The oldest output goes first, so what is gone is one piece at the beginning; anything else is not retention. */
function gapEnd({published}: Known, missing: readonly number[]): number | undefined {
	const last = missing.at(-1);
	if (last === undefined) return undefined;
	if (last - published === missing.length) return last;
	throw new ReconcileError(`process events are no longer retained while recovering through sequence ${last}`);
}
