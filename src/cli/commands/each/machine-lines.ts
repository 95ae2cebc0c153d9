import {isatty} from 'node:tty';
import type {Output} from '../../../client/process/process-handle.js';
import {PrefixedLines} from '../../common/prefixed-lines.js';
import {printable} from '../../common/printable.js';
import {BrokenPipeError} from '../../common/stdout.js';
import {describeBytes} from '../run/attach/missing-output.js';
import {OutputWriter, STDOUT} from '../run/attach/output-writer.js';

/** Output of many machines as it comes: whole lines, each with the name of its machine, on the stream it was written to. */
export class MachineLines {
	readonly #writer = new OutputWriter();
	readonly #lines = new Map<string, PrefixedLines>();
	readonly #width: number;
	readonly #isForTerminal = isatty(STDOUT);
	#failure: Error | undefined;

	/** `stop` is called when our output cannot be written any more. */
	constructor(ids: readonly string[], stop: () => void) {
		this.#width = Math.max(...ids.map(id => id.length));
		void this.#stopWhenBroken(stop);
	}

	/** Settles when there is room for more; rejects when our output cannot be written. */
	async write(id: string, output: Output): Promise<void> {
		if (this.#failure) throw this.#failure;
		if (output.kind === 'gap') {
			this.#writer.say(`${this.#prefix(id)}${describeBytes(output.missedBytes)} of output are missing here\n`);
			return;
		}
		const {stream, bytes} = output;
		const complete = this.#linesOf(id).add(stream, this.#prefix(id), bytes);
		if (complete.length > 0) await this.#writer.write(stream, complete);
	}

	/** Writes the lines of a machine that have not ended. */
	finish(id: string): void {
		for (const [stream, bytes] of this.#lines.get(id)?.finish() ?? []) void this.#writer.write(stream, bytes);
		this.#lines.delete(id);
	}

	async flush(): Promise<void> {
		await this.#writer.flush();
		if (this.#failure) throw this.#failure;
	}

	async #stopWhenBroken(stop: () => void): Promise<void> {
		const {error} = await this.#writer.broken;
		this.#failure = error.code === 'EPIPE' ? new BrokenPipeError() : error;
		stop();
	}

	#linesOf(id: string): PrefixedLines {
		const lines = this.#lines.get(id) ?? new PrefixedLines({isForTerminal: this.#isForTerminal});
		this.#lines.set(id, lines);
		return lines;
	}

	#prefix(id: string): string {
		return `${printable(id).padEnd(this.#width)} | `;
	}
}
