import type {StdinWriter} from '../../src/processes/backends/backend.js';

/** A child's standard input that takes a chunk when told to. */
export class FakeWriter implements StdinWriter {
	/** Every chunk handed over, in order. */
	readonly written: Uint8Array[] = [];
	/** Takes every further chunk while it is handed over, as a writer whose child is gone does. */
	immediate = false;
	destroyed = 0;
	/** How often the end of input was passed on, and after how many chunks. */
	readonly ends: number[] = [];
	readonly #pending: (() => void)[] = [];

	get texts(): string[] {
		return this.written.map(bytes => Buffer.from(bytes).toString());
	}

	get lastText(): string {
		return Buffer.from(this.written.at(-1)!).toString();
	}

	write(bytes: Uint8Array, done: () => void): void {
		this.written.push(bytes);
		if (this.immediate || this.destroyed > 0) done();
		else this.#pending.push(done);
	}

	/** The oldest chunk under way is through. */
	finish(): void {
		this.#pending.shift()!();
	}

	end(): void {
		this.ends.push(this.written.length);
	}

	destroy(): void {
		this.destroyed++;
		for (const done of this.#pending.splice(0)) done();
	}
}
