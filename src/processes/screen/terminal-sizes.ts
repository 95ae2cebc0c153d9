import type {TerminalSize} from '../backends/backend.js';

/** Changes of size that are kept for one process; the oldest ones are forgotten before. */
export const MAX_RECORDED_SIZES = 256;

export interface RecordedSize {
	/** Number of the event before the change. */
	readonly seq: number;
	readonly size: TerminalSize;
}

/** The sizes a terminal had, in order. */
export class TerminalSizes {
	#initial: TerminalSize;
	#changes: RecordedSize[] = [];

	constructor(initial: TerminalSize) {
		this.#initial = initial;
	}

	/** Size before the oldest change that is kept. */
	get initial(): TerminalSize {
		return this.#initial;
	}

	get current(): TerminalSize {
		return this.#changes.at(-1)?.size ?? this.#initial;
	}

	record(seq: number, size: TerminalSize): void {
		const {rows, columns} = this.current;
		if (size.rows === rows && size.columns === columns) return;
		this.#changes.push({seq, size: {rows: size.rows, columns: size.columns}});
		if (this.#changes.length > MAX_RECORDED_SIZES) this.#initial = this.#changes.shift()!.size;
	}

	/** Changes after the event, or right behind it. */
	from(seq: number): readonly RecordedSize[] {
		return this.#changes.filter(change => change.seq >= seq);
	}
}
