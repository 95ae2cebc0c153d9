import type {Readable} from 'node:stream';
import {CoalescingReader} from '../run/attach/coalescing-reader.js';
import {EscapeDetector, INTERRUPT, TYPED_AHEAD_BYTES} from '../run/attach/keyboard.js';

const NOTHING = new Uint8Array(0);

/** Commands that are typed behind a tilde at the beginning of a line. */
const COMMANDS = {'.': 'leave', d: 'leave', t: 'take', o: 'observe'} as const;
type CommandKey = keyof typeof COMMANDS;

export type KeyboardCommand = (typeof COMMANDS)[CommandKey] | 'interrupt' | 'ignored';

export interface KeyboardListener {
	/** Whether keys are for the process. */
	isDriving(): boolean;
	isLinkUp?(): boolean;
	/** Ctrl-C of somebody who does not drive, or has no link, is `interrupt`; other keys of one who does not drive are `ignored`. */
	command(command: KeyboardCommand): void;
}

/** Keys of our terminal: for the process while we drive, and commands of our own. They are scanned as they arrive. */
export class AttachKeyboard {
	/** Input for the process. */
	readonly input: AsyncIterable<Uint8Array>;
	readonly #escapes = new EscapeDetector(Object.keys(COMMANDS).join(''));
	readonly #listener: KeyboardListener;

	constructor(source: Readable, listener: KeyboardListener) {
		this.#listener = listener;
		this.input = new CoalescingReader(source, TYPED_AHEAD_BYTES, chunk => this.#scan(chunk));
	}

	#scan(chunk: Uint8Array): Uint8Array {
		const hasNoLink = this.#listener.isLinkUp?.() === false;
		if (hasNoLink) this.#escapes.reset();
		const {bytes, escapes} = this.#escapes.scan(chunk);
		for (const key of escapes) this.#listener.command(COMMANDS[key as CommandKey]);
		if (hasNoLink && bytes.includes(INTERRUPT)) this.#listener.command('interrupt');
		if (this.#listener.isDriving()) return bytes;
		// Nothing that an observer types is part of a line.
		this.#escapes.reset();
		if (bytes.includes(INTERRUPT)) this.#listener.command('interrupt');
		else if (bytes.length > 0) this.#listener.command('ignored');
		return NOTHING;
	}
}
