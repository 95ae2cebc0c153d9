import type {Readable} from 'node:stream';
import {Deferred} from '../../../../shared/async/deferred.js';
import {CoalescingReader} from './coalescing-reader.js';

/** High-water mark of typed input; above it the terminal waits. */
export const TYPED_AHEAD_BYTES = 1024 * 1024;
/** Ctrl-C. */
export const INTERRUPT = 0x03;
const TILDE = 0x7e;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
/** Key behind a tilde that leaves. */
const LEAVE = '.';

/**
 * Typed input for a process. It is scanned for the escape as it arrives, even while the process or the connection takes
 * nothing, so that there is always a way out.
 */
export class Keyboard {
	readonly input: AsyncIterable<Uint8Array>;
	/** Settles when `~.` was typed at the beginning of a line; while there is no link, anywhere, and with Ctrl-C as well. */
	readonly left: Promise<void>;

	constructor(source: Readable, isLinkUp: () => boolean = () => true) {
		const escapes = new EscapeDetector();
		const left = new Deferred();
		this.left = left.promise;
		this.input = new CoalescingReader(source, TYPED_AHEAD_BYTES, chunk => {
			if (!isLinkUp()) escapes.reset();
			const {bytes, leaves} = escapes.scan(chunk);
			if (leaves || (bytes.includes(INTERRUPT) && !isLinkUp())) left.resolve();
			return bytes;
		});
	}
}

export interface Scanned {
	/** Input for the process. */
	readonly bytes: Uint8Array;
	/** Keys that were typed behind a tilde, in order. */
	readonly escapes: string;
	/** Whether `~.` was one of them; nothing behind it is looked at. */
	readonly leaves: boolean;
}

/**
 * Finds escapes such as `~.` at the beginning of a line; `~~` there is one tilde. A tilde is held until the next byte.
 */
export class EscapeDetector {
	readonly #keys: string;
	#state: 'line-start' | 'tilde' | 'within' = 'line-start';

	/** Keys that are escapes behind a tilde. */
	constructor(keys = LEAVE) {
		this.#keys = keys;
	}

	scan(typed: Uint8Array): Scanned {
		const bytes: number[] = [];
		let escapes = '';
		for (const byte of typed) {
			if (this.#state === 'tilde') {
				const key = String.fromCharCode(byte);
				if (this.#keys.includes(key)) {
					escapes += key;
					if (key === LEAVE) break;
					this.#state = 'line-start';
					continue;
				}
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
		return {bytes: Uint8Array.from(bytes), escapes, leaves: escapes.endsWith(LEAVE)};
	}

	/** The next byte may begin an escape, whatever was typed before. */
	reset(): void {
		if (this.#state === 'within') this.#state = 'line-start';
	}
}
