import {
	type Lagged,
	type Output,
	ProcessLostError,
	type ReadOptions,
	type ReadResult,
	type StreamEvent,
} from './process-handle.js';

/** Output that is read again at a time. */
const MISSED_PAGE_BYTES = 1024 * 1024;

export interface OutputSource {
	events(): AsyncIterableIterator<StreamEvent>;
	read(options?: ReadOptions): Promise<ReadResult>;
}

/**
 * The output of a process from its beginning, or from behind an event, to its end. Output a slow reader missed is read again; a gap announces
 * what is no longer retained.
 */
export function readOutputStream(source: OutputSource, afterSeq = 0): AsyncIterableIterator<Output> {
	const events = source.events();
	const pieces = readPieces(source, events, afterSeq);
	return {
		next: () => pieces.next(),
		// Also ends a `next()` that is waiting.
		return: async () => {
			await events.return?.();
			return pieces.return();
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
}

async function* readPieces(
	source: OutputSource,
	events: AsyncIterableIterator<StreamEvent>,
	afterSeq: number,
): AsyncGenerator<Output, void, void> {
	let lastSeq = afterSeq;
	for await (const event of events) {
		switch (event.kind) {
			case 'output':
				if (event.seq <= lastSeq) break;
				lastSeq = event.seq;
				yield {kind: 'output', seq: event.seq, stream: event.stream, bytes: event.bytes};
				break;
			case 'gap':
				if (event.throughSeq <= lastSeq) break;
				lastSeq = event.throughSeq;
				yield {kind: 'gap', missedBytes: event.missedBytes};
				break;
			case 'lagged':
				for await (const piece of readMissed(source, event, lastSeq)) {
					if (piece.kind === 'output') lastSeq = piece.seq;
					yield piece;
				}
				break;
			case 'failed':
				throw new ProcessLostError(event.message);
			case 'exited':
			case 'closed':
				break;
		}
	}
}

/** Output that a reader missed by being late, in pages: a server that keeps it on disk may have any amount of it. */
async function* readMissed(source: OutputSource, {afterSeq, missed}: Lagged, from: number): AsyncGenerator<Output> {
	let lastSeq = from;
	while (lastSeq < afterSeq + missed) {
		const page = await source.read({afterSeq: lastSeq, maxBytes: MISSED_PAGE_BYTES});
		if (page.failure !== null) throw new ProcessLostError(page.failure);
		// An empty page behind others is their end.
		const mayMiss = page.chunks.length > 0 || lastSeq === from;
		if (mayMiss && isMissing(page, lastSeq, missed)) yield {kind: 'gap', missedBytes: page.missedBytes};
		for (const {seq, stream, chunk} of page.chunks) {
			lastSeq = seq;
			yield {kind: 'output', seq, stream, bytes: chunk};
		}
		if (page.chunks.length === 0) return;
	}
}

/** Without `missedBytes`, evicted output shows as a gap in the sequence numbers; the exit takes a number, too. */
function isMissing({chunks, exited, missedBytes}: ReadResult, lastSeq: number, missed: number): boolean {
	if (missedBytes !== undefined) return missedBytes > 0;
	const first = chunks[0]?.seq ?? lastSeq + 1 + missed;
	return first - lastSeq - 1 > (exited ? 1 : 0);
}
