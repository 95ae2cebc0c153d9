import type {OutputStream} from '../../../client/process/process-handle.js';
import {PrefixedLines} from '../../common/prefixed-lines.js';
import {toIsoTime} from '../ps/listed-lines.js';

/** Output that is not on disk has no times. */
const UNKNOWN_TIME = '-';

/** Output as lines with the time of their first byte in front; each stream has lines of its own. */
export class TimedLines {
	readonly #lines: PrefixedLines;

	/** On a terminal control characters are written out. */
	constructor(options: {readonly isForTerminal: boolean}) {
		this.#lines = new PrefixedLines(options);
	}

	/** The lines that are complete now. */
	add(stream: OutputStream, ms: number | undefined, bytes: Uint8Array): Uint8Array {
		const time = (ms === undefined ? null : toIsoTime(ms)) ?? UNKNOWN_TIME;
		return this.#lines.add(stream, `${time} `, bytes);
	}

	/** Lines that have not ended. */
	finish(): [OutputStream, Uint8Array][] {
		return this.#lines.finish();
	}
}
