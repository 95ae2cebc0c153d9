import type {Readable} from 'node:stream';
import {CoalescingReader} from './coalescing-reader.js';

/** What may be typed ahead; beyond it the terminal waits. */
const TYPED_AHEAD_BYTES = 1024 * 1024;

/**
 * What is typed, for a process. It is looked at as it comes, even while the process or the link to it takes nothing, so
 * that there is always a way out.
 */
export class Keyboard {
	readonly input: AsyncIterable<Uint8Array>;
	/** Settles when `~.` was typed at the beginning of a line. */
	readonly left: Promise<void>;

	constructor(source: Readable) {
		const escapes = new EscapeDetector();
		let leave!: () => void;
		this.left = new Promise(resolve => {
			leave = resolve;
		});
		this.input = new CoalescingReader(source, TYPED_AHEAD_BYTES, chunk => {
			const {bytes, leaves} = escapes.scan(chunk);
			if (leaves) leave();
			return bytes;
		});
	}
}

const TILDE = 0x7e;
const DOT = 0x2e;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

export interface Scanned {
	/** What is meant for the process. */
	readonly bytes: Uint8Array;
	/** Whether somebody wants out. */
	readonly leaves: boolean;
}

/**
 * Looks for `~.` at the beginning of a line, which means that somebody wants out; `~~` there is one tilde. A tilde waits
 * for what comes behind it.
 */
export class EscapeDetector {
	#state: 'line-start' | 'tilde' | 'within' = 'line-start';

	scan(typed: Uint8Array): Scanned {
		const bytes: number[] = [];
		for (const byte of typed) {
			if (this.#state === 'tilde') {
				if (byte === DOT) return {bytes: Uint8Array.from(bytes), leaves: true};
				bytes.push(TILDE);
				this.#state = 'within';
				if (byte === TILDE) continue;
			} else if (this.#state === 'line-start' && byte === TILDE) {
				this.#state = 'tilde';
				continue;
			}
			bytes.push(byte);
			this.#state = byte === RETURN || byte === LINE_FEED ? 'line-start' : 'within';
		}
		return {bytes: Uint8Array.from(bytes), leaves: false};
	}
}
