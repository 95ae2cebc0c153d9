import {isUtf8} from 'node:buffer';
import {TAIL_LINES} from './limits.mjs';
import {options} from './options.mjs';

const MESSAGE_CHARS = 2000;

/** A promise the server did not keep, and the message it did not keep it for, if that is known. */
export class Violation extends Error {
	constructor(what, offending) {
		super(what);
		this.offending = offending;
	}
}

/** Everything that was found, as it goes into the result. */
export const violations = [];

/** Writes a violation down and says how to see it again. */
export function report(error, {index, peers}) {
	const what = error instanceof Violation ? error.message : `the fuzzer failed: ${error.stack}`;
	const again = `node bench/fuzz.mjs --transport ${options.transport} --seed ${options.seed} --only ${index}`;
	const message = shown(error.offending, MESSAGE_CHARS);
	violations.push({what, episode: index, again, message});
	console.error(`\nVIOLATION ${what}\n  again: ${again}\n  message: ${message}`);
	for (const line of peers.at(-1)?.transcript.tail() ?? []) console.error(`  ${line}`);
}

/** The last messages of one connection. */
export class Transcript {
	#lines = [];

	sent(what) {
		this.#add('>', what);
	}

	received(what) {
		this.#add('<', what);
	}

	tail() {
		return this.#lines.slice(-TAIL_LINES).map(([direction, what]) => `${direction} ${shown(what, 300)}`);
	}

	#add(direction, what) {
		if (options.only !== undefined) console.error(`${direction} ${shown(what, 2000)}`);
		this.#lines.push([direction, what]);
		if (this.#lines.length > 2 * TAIL_LINES) this.#lines.splice(0, TAIL_LINES);
	}
}

/** A message for people: bytes that are no text in hexadecimal, the middle of a long one left out. */
export function shown(what, limit) {
	if (what === undefined) return '(none)';
	const text = typeof what === 'string' || isUtf8(what) ? JSON.stringify(String(what)) : `hex ${what.toString('hex')}`;
	if (text.length <= limit) return text;
	return `${text.slice(0, limit / 2)} … ${text.length} characters … ${text.slice(-limit / 2)}`;
}
