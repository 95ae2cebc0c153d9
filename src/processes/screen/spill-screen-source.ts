import type {TerminalSize} from '../backends/backend.js';
import type {LoggedEntries, LoggedEntry} from '../logs/log-entries.js';
import type {OutputLog} from '../output/output-log.js';
import type {KeptOutput} from '../output/output-spill.js';
import type {ScreenEvent, ScreenReader, ScreenSource} from './screen-source.js';

/** The output of a process on disk, with the sizes of its terminal and the time of everything. */
export class SpillScreenSource implements ScreenSource {
	readonly key: object;
	readonly hasTimes = true;
	readonly initialSize: TerminalSize;
	readonly #log: OutputLog;
	readonly #spill: KeptOutput;

	constructor(key: object, log: OutputLog, spill: KeptOutput, initialSize: TerminalSize) {
		this.key = key;
		this.initialSize = initialSize;
		this.#log = log;
		this.#spill = spill;
	}

	get lastSeq(): number {
		return this.#log.nextSeq - 1;
	}

	open(afterSeq: number): ScreenReader {
		return new SpillScreenReader(this.#spill.readFrom({seq: afterSeq + 1}), afterSeq);
	}
}

/** Announces dropped output as a gap in front of the first that is left. */
class SpillScreenReader implements ScreenReader {
	readonly #entries: LoggedEntries;
	#lastSeq: number;
	#missedBytes = 0;
	#pending: LoggedEntry | undefined;

	constructor(entries: LoggedEntries, afterSeq: number) {
		this.#entries = entries;
		this.#lastSeq = afterSeq;
	}

	next(): ScreenEvent | undefined {
		for (;;) {
			const entry = this.#pending ?? this.#entries.nextEntry();
			this.#pending = undefined;
			if (!entry) return undefined;
			const gap = entry.kind === 'output' ? this.#findGap(entry) : undefined;
			if (gap) return gap;
			const event = toScreenEvent(entry);
			if (!event) continue;
			this.#lastSeq = entry.seq;
			return event;
		}
	}

	close(): void {
		this.#entries.close();
	}

	#findGap(entry: LoggedEntry): ScreenEvent | undefined {
		const missedBytes = this.#entries.missedBytes - this.#missedBytes;
		if (missedBytes === 0 || entry.seq - 1 <= this.#lastSeq) return undefined;
		this.#missedBytes += missedBytes;
		this.#pending = entry;
		return {kind: 'gap', seq: entry.seq - 1, missedBytes};
	}
}

function toScreenEvent(entry: LoggedEntry): ScreenEvent | undefined {
	const {seq, ms} = entry;
	switch (entry.kind) {
		case 'output':
			return {kind: 'output', seq, bytes: entry.bytes, ms};
		case 'resize':
			return {kind: 'resize', seq, size: {rows: entry.rows, columns: entry.cols}, ms};
		case 'exited':
		case 'closed':
			return {kind: 'other', seq, ms};
		case 'input':
		case 'marker':
		case 'dropped':
			return undefined;
	}
}
