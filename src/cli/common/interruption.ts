import {exitCodeOfSignal} from '../exit-codes.js';

const SIGNALS = {SIGHUP: 1, SIGINT: 2, SIGTERM: 15} as const;

/** The command was interrupted by a signal. */
export class InterruptedError extends Error {
	override readonly name = 'InterruptedError';
	readonly exitCode: number;

	constructor(signal: keyof typeof SIGNALS) {
		super(`interrupted by ${signal}`);
		this.exitCode = exitCodeOfSignal(SIGNALS[signal]);
	}
}

/** Ctrl-C and its like abort `signal` while it exists; a second one ends the program at once. */
export class Interruption implements Disposable {
	readonly #controller = new AbortController();
	readonly #listener = (signal: NodeJS.Signals): void => {
		const error = new InterruptedError(signal as keyof typeof SIGNALS);
		if (this.#controller.signal.aborted) process.exit(error.exitCode);
		this.#controller.abort(error);
	};

	constructor() {
		for (const signal of Object.keys(SIGNALS)) process.on(signal, this.#listener);
	}

	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	[Symbol.dispose](): void {
		for (const signal of Object.keys(SIGNALS)) process.off(signal, this.#listener);
	}
}
