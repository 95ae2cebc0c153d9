import type {RecordedEntry, RecordingHeader} from './recording.js';
import {CountingDecoder} from './utf8-decoding.js';

const MS_PER_SECOND = 1000;

/**
 * Writes a recording as asciicast v3, line by line. The format holds text only: bytes that are no UTF-8 become replacement
 * characters, which are counted.
 */
export class AsciicastWriter {
	readonly #output = new CountingDecoder();
	readonly #input = new CountingDecoder();
	/** Time of the last line, in whole milliseconds, so that rounded intervals add up. */
	#lastMs: number | undefined;

	/** Replacement characters that stand for bytes which are no UTF-8. */
	get replacements(): number {
		return this.#output.replacements + this.#input.replacements;
	}

	/** The first line. */
	begin({rows, cols, terminalType, startedAtMs, command, title, env}: RecordingHeader): string {
		return toLine({
			version: 3,
			term: {cols, rows, type: terminalType},
			timestamp: startedAtMs === undefined ? undefined : Math.floor(startedAtMs / MS_PER_SECOND),
			command,
			title,
			env,
		});
	}

	/** Lines of an entry; none while a character is not complete. The first entry is the beginning of the recording. */
	write(entry: RecordedEntry): string {
		this.#lastMs ??= Math.round(entry.ms);
		switch (entry.kind) {
			case 'output':
				return this.#toText(entry.ms, 'o', this.#output.decode(entry.bytes));
			case 'input':
				return this.#toText(entry.ms, 'i', this.#input.decode(entry.bytes));
			case 'resize':
				return this.#toEvent(entry.ms, 'r', `${entry.cols}x${entry.rows}`);
			case 'marker':
				return this.#toEvent(entry.ms, 'm', entry.label);
			case 'exit':
				return this.end(entry.ms) + this.#toEvent(entry.ms, 'x', String(entry.exitCode));
		}
	}

	/** Lines for characters that were never completed. */
	end(ms: number | undefined = this.#lastMs): string {
		const at = ms ?? 0;
		return this.#toText(at, 'o', this.#output.end()) + this.#toText(at, 'i', this.#input.end());
	}

	#toText(ms: number, code: string, text: string): string {
		return text === '' ? '' : this.#toEvent(ms, code, text);
	}

	#toEvent(ms: number, code: string, data: string): string {
		const at = Math.max(Math.round(ms), this.#lastMs ?? 0);
		const seconds = (at - (this.#lastMs ?? at)) / MS_PER_SECOND;
		this.#lastMs = at;
		return toLine([seconds, code, data]);
	}
}

/** A recording as the lines of an asciicast v3 file; `writer` counts the characters that were replaced. */
export async function* writeAsciicast(
	header: RecordingHeader,
	entries: AsyncIterable<RecordedEntry> | Iterable<RecordedEntry>,
	writer = new AsciicastWriter(),
): AsyncGenerator<string, void, undefined> {
	yield writer.begin(header);
	for await (const entry of entries) {
		const lines = writer.write(entry);
		if (lines !== '') yield lines;
	}
	const rest = writer.end();
	if (rest !== '') yield rest;
}

function toLine(value: unknown): string {
	return `${JSON.stringify(value)}\n`;
}
