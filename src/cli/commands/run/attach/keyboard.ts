import type {Readable} from 'node:stream';
import {Deferred} from '../../../../shared/async/deferred.js';
import {CoalescingReader} from './coalescing-reader.js';

/** High-water mark of typed input; above it the terminal waits. */
const TYPED_AHEAD_BYTES = 1024 * 1024;
const TILDE = 0x7e;
const DOT = 0x2e;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/**
 * Typed input for a process. It is scanned for the escape as it arrives, even while the process or the connection takes
 * nothing, so that there is always a way out.
 */
export class Keyboard {
	readonly input: AsyncIterable<Uint8Array>;
	/** Settles when `~.` was typed at the beginning of a line. */
	readonly left: Promise<void>;

	constructor(source: Readable) {
		const escapes = new EscapeDetector();
		const left = new Deferred();
		this.left = left.promise;
		this.input = new CoalescingReader(source, TYPED_AHEAD_BYTES, chunk => {
			const {bytes, leaves} = escapes.scan(chunk);
			if (leaves) left.resolve();
			return bytes;
		});
	}
}

export interface Scanned {
	/** Input for the process. */
	readonly bytes: Uint8Array;
	/** Whether the escape was typed. */
	readonly leaves: boolean;
}

/**
 * Finds the escape `~.` at the beginning of a line; `~~` there is one tilde. A tilde is held until the next byte.
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
