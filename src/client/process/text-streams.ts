import {omissionMarker} from '../../shared/head-tail-buffer.js';
import type {Output, OutputStream} from './process-handle.js';

/** Longest line in memory; a longer one comes in parts. */
export const MAX_LINE_CHARACTERS = 1024 * 1024;

/** Stream of a process that is read as text. */
export type TextStream = 'stdout' | 'stderr';

/** Options of `text` and `lines`. */
export interface TextOptions {
	/** One of the streams; both by default, in the order of arrival. A terminal has one only, `stdout`. */
	readonly stream?: TextStream | undefined;
}

/** Text of one stream. */
export interface TextPiece {
	readonly stream: TextStream;
	readonly text: string;
}

/** The stream a piece of output belongs to; a terminal has one only. */
export function textStreamOf(stream: OutputStream): TextStream {
	return stream === 'stderr' ? 'stderr' : 'stdout';
}

/** Decodes output, each stream on its own: the bytes of a character may arrive in two pieces. */
export class OutputDecoder {
	readonly #decoders = {stdout: new TextDecoder(), stderr: new TextDecoder()};

	/** The text of a piece; lost output is announced by a line in its place. Gaps do not name their stream. */
	decode(output: Output, gapStream: TextStream = 'stdout'): TextPiece[] {
		if (output.kind === 'gap') {
			return [...this.end(), {stream: gapStream, text: `\n${describeGap(output.missedBytes)}\n`}];
		}
		const stream = textStreamOf(output.stream);
		const text = this.#decoders[stream].decode(output.bytes, {stream: true});
		return text === '' ? [] : [{stream, text}];
	}

	/** Ends characters that are incomplete. */
	end(): TextPiece[] {
		const pieces = (['stdout', 'stderr'] as const).map(stream => ({stream, text: this.#decoders[stream].decode()}));
		return pieces.filter(({text}) => text !== '');
	}
}

/** Output as text, in the pieces in which it arrives. */
export function readTextStream(
	output: AsyncIterableIterator<Output>,
	options: TextOptions = {},
): AsyncIterableIterator<string> {
	return endWithSource(decodePieces(output, options), output);
}

/** Output line by line, without line ends. The last line counts without one, too. */
export function readLines(
	output: AsyncIterableIterator<Output>,
	options: TextOptions = {},
): AsyncIterableIterator<string> {
	return endWithSource(splitLines(output, options), output);
}

async function* decodePieces(output: AsyncIterable<Output>, options: TextOptions): AsyncGenerator<string, void, void> {
	for await (const {text} of readPieces(output, options)) yield text;
}

async function* splitLines(output: AsyncIterable<Output>, options: TextOptions): AsyncGenerator<string, void, void> {
	const rests: Record<TextStream, string> = {stdout: '', stderr: ''};
	for await (const {stream, text} of readPieces(output, options)) {
		const lines = text.split('\n');
		lines[0] = rests[stream] + lines[0]!;
		rests[stream] = lines.pop()!;
		for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
		if (rests[stream].length < MAX_LINE_CHARACTERS) continue;
		yield rests[stream];
		rests[stream] = '';
	}
	for (const rest of Object.values(rests)) if (rest !== '') yield rest;
}

async function* readPieces(
	output: AsyncIterable<Output>,
	{stream: wanted}: TextOptions,
): AsyncGenerator<TextPiece, void, void> {
	const decoder = new OutputDecoder();
	for await (const piece of output) {
		for (const decoded of decoder.decode(piece, wanted)) {
			if (wanted === undefined || decoded.stream === wanted) yield decoded;
		}
	}
	for (const rest of decoder.end()) if (wanted === undefined || rest.stream === wanted) yield rest;
}

function describeGap(missedBytes: number | undefined): string {
	return missedBytes === undefined ? '... output omitted ...' : omissionMarker(missedBytes);
}

/** Ends the source with its reader, also when nothing was read yet or a read is waiting. */
function endWithSource<T>(
	pieces: AsyncGenerator<T, void, void>,
	source: AsyncIterableIterator<unknown>,
): AsyncIterableIterator<T> {
	return {
		next: () => pieces.next(),
		return: async () => {
			await source.return?.();
			return pieces.return();
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
}
