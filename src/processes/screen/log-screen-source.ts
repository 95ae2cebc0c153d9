import type {LogEvent, LogGap, ObserverCursor} from '../output/log-cursor.js';
import type {OutputLog} from '../output/output-log.js';
import type {ScreenEvent, ScreenReader, ScreenSource} from './screen-source.js';
import type {RecordedSize, TerminalSizes} from './terminal-sizes.js';

/** The output of a process that its log retains; the rest is a gap. */
export class LogScreenSource implements ScreenSource {
	readonly key: object;
	readonly hasTimes = false;
	readonly #log: OutputLog;
	readonly #sizes: TerminalSizes;

	constructor(key: object, log: OutputLog, sizes: TerminalSizes) {
		this.key = key;
		this.#log = log;
		this.#sizes = sizes;
	}

	get initialSize() {
		return this.#sizes.initial;
	}

	get lastSeq(): number {
		return this.#log.nextSeq - 1;
	}

	open(afterSeq: number): ScreenReader {
		return new LogScreenReader(
			this.#log.observe(afterSeq, () => {}),
			this.#sizes.from(afterSeq),
		);
	}
}

/** Merges the events of a log with the sizes of its terminal. */
class LogScreenReader implements ScreenReader {
	readonly #cursor: ObserverCursor;
	readonly #changes: RecordedSize[];
	#pending: LogEvent | LogGap | undefined;

	constructor(cursor: ObserverCursor, changes: readonly RecordedSize[]) {
		this.#cursor = cursor;
		this.#changes = [...changes];
	}

	next(): ScreenEvent | undefined {
		this.#pending ??= this.#cursor.next();
		const [change] = this.#changes;
		const first = this.#pending && firstSeqOf(this.#pending);
		if (change && (first === undefined || change.seq < first)) {
			this.#changes.shift();
			return {kind: 'resize', ...change};
		}
		const event = this.#pending;
		this.#pending = undefined;
		return event && toScreenEvent(event);
	}

	close(): void {
		this.#cursor.close();
	}
}

/** A change of size within a gap counts as one before its end. */
function firstSeqOf(event: LogEvent | LogGap): number {
	return event.kind === 'gap' ? event.throughSeq + 1 : event.seq;
}

function toScreenEvent(event: LogEvent | LogGap): ScreenEvent {
	switch (event.kind) {
		case 'output':
			return {kind: 'output', seq: event.seq, bytes: event.bytes};
		case 'gap':
			return {kind: 'gap', seq: event.throughSeq, missedBytes: event.missedBytes};
		case 'exited':
		case 'closed':
			return {kind: 'other', seq: event.seq};
	}
}
