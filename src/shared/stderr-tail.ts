/** Bounded tail of a child's standard error, kept for the error message when it fails. */
export class StderrTail {
	readonly #maxChars: number;
	#text = '';

	constructor(maxChars: number) {
		this.#maxChars = maxChars;
	}

	get text(): string {
		return this.#text;
	}

	push(text: string): void {
		this.#text = (this.#text + text).slice(-this.#maxChars);
	}
}
