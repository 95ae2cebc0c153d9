import type {StdinWriter} from '../../src/processes/backends/backend.js';

/** Standard input of a child that completes a write when the test says so. */
export class FakeWriter implements StdinWriter {
	/** Every chunk handed over, in order. */
	readonly written: Uint8Array[] = [];
	/** Completes every further write synchronously, as a writer whose child is gone does. */
	immediate = false;
	destroyed = 0;
	/** For each `end` call, the number of chunks written before it. */
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

	/** Completes the oldest pending write. */
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
