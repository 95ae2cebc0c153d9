/** Output of a process that is lost, over all gaps. */
export class MissingOutput {
	#bytes: number | undefined = 0;
	#isSome = false;

	get isSome(): boolean {
		return this.#isSome;
	}

	/** Undefined if the server does not report the amount. */
	add(bytes: number | undefined): void {
		this.#isSome = true;
		this.#bytes = bytes === undefined || this.#bytes === undefined ? undefined : this.#bytes + bytes;
	}

	describe(): string {
		return describeBytes(this.#bytes);
	}
}

export function describeBytes(bytes: number | undefined): string {
	return `${bytes ?? 'an unknown number of'} bytes`;
}
