import {RecordingError} from './recording.js';

/** Characters of one line of a recording. */
export const MAX_RECORDING_LINE_LENGTH = 16 * 1024 * 1024;

export interface NumberedLine {
	readonly text: string;
	/** Counted from 1. */
	readonly number: number;
}

/** Lines of a file of text; a line without an end is the last one. Throws at one that is too long. */
export async function* splitLines(
	chunks: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<NumberedLine, void, undefined> {
	const decoder = new TextDecoder();
	let number = 1;
	let begun: string[] = [];
	let length = 0;
	for await (const chunk of chunks) {
		const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, {stream: true});
		const [first = '', ...others] = text.split('\n');
		begun.push(first);
		length += first.length;
		for (const next of others) {
			yield {text: begun.join(''), number: checked(number++, length)};
			begun = [next];
			({length} = next);
		}
		checked(number, length);
	}
	const text = begun.join('') + decoder.decode();
	if (text !== '') yield {text, number};
}

function checked(number: number, length: number): number {
	if (length <= MAX_RECORDING_LINE_LENGTH) return number;
	throw new RecordingError(number, `it is longer than ${MAX_RECORDING_LINE_LENGTH} characters`);
}
