import {isDrawing, plainText} from './plain-text.js';

/** Bytes of binary output that an answer shows. */
const SHOWN_BINARY_BYTES = 48;
/** Share of characters that could not be decoded from which on output counts as binary. */
const MAX_REPLACED_SHARE = 0.1;
const REPLACEMENT = '\ufffd';

/** Output of a process for an answer: head and tail, and how much is left out between them. */
export interface OutputExcerpt {
	readonly text: string;
	/** Bytes the excerpt stands for. */
	readonly bytes: number;
	/** Bytes that are not in the text, but can be read. */
	readonly leftOutBytes: number;
	/** Bytes that are lost. */
	readonly missedBytes: number;
	/** The byte behind it, over all output of the process. */
	readonly endByte: number;
	/** It places text on a screen instead of writing lines. */
	readonly isDrawn: boolean;
}

export interface ExcerptParts {
	readonly head: Uint8Array;
	/** Empty if nothing is left out. */
	readonly tail: Uint8Array;
	readonly leftOutBytes: number;
	readonly missedBytes: number;
	readonly endByte: number;
}

/** Text of head and tail, cut at characters. */
export function toExcerpt({head, tail, leftOutBytes, missedBytes, endByte}: ExcerptParts): OutputExcerpt {
	const bytes = head.length + tail.length + leftOutBytes;
	const isCut = leftOutBytes > 0;
	const gap = missedBytes > 0 ? `… ${groupDigits(missedBytes)} bytes are no longer kept …\n` : '';
	const sizes = {bytes, leftOutBytes, missedBytes, endByte};
	if (isBinary(head) || isBinary(tail)) {
		return {text: `${gap}${describeBinary(head, bytes)}`, ...sizes, isDrawn: false};
	}
	const headText = decode(isCut ? dropCutEnd(head) : head);
	const tailText = decode(isCut ? dropCutStart(tail) : tail);
	const facts = {...sizes, isDrawn: isDrawing(headText + tailText)};
	if (!isCut) return {text: `${gap}${plainText(headText + tailText)}`, ...facts};
	const omission = `\n… ${groupDigits(leftOutBytes)} bytes left out …\n`;
	return {text: `${gap}${plainText(headText)}${omission}${plainText(tailText)}`, ...facts};
}

/** `84,233`. */
export function groupDigits(count: number): string {
	return String(Math.round(count)).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

/** Whether bytes are no text that is worth showing. */
export function isBinary(bytes: Uint8Array): boolean {
	if (bytes.includes(0)) return true;
	const text = decode(dropCutEnd(dropCutStart(bytes)));
	let replaced = 0;
	for (let at = text.indexOf(REPLACEMENT); at >= 0; at = text.indexOf(REPLACEMENT, at + 1)) replaced++;
	return replaced > text.length * MAX_REPLACED_SHARE;
}

/** The text with its middle left out if it is too long. */
export function cutMiddleOf(text: string, maxChars: number): string {
	if (text.length <= maxChars) return text;
	const half = Math.floor(maxChars / 2);
	return `${text.slice(0, half)}\n… ${groupDigits(text.length - 2 * half)} characters left out …\n${text.slice(-half)}`;
}

function describeBinary(head: Uint8Array, bytes: number): string {
	const shown = Array.from(head.subarray(0, SHOWN_BINARY_BYTES), byte => byte.toString(16).padStart(2, '0'));
	return `binary output, ${groupDigits(bytes)} bytes: ${shown.join(' ')}${bytes > shown.length ? ' …' : ''}`;
}

function decode(bytes: Uint8Array): string {
	return new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes);
}

/** Without the beginning of a character whose rest is missing. */
export function dropCutEnd(bytes: Uint8Array): Uint8Array {
	for (let back = 1; back <= Math.min(3, bytes.length); back++) {
		const byte = bytes[bytes.length - back]!;
		if (byte < 0x80) return bytes;
		if (byte >= 0xc0) return sequenceLength(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
	}
	return bytes;
}

/** Without the rest of a character whose beginning is missing. */
export function dropCutStart(bytes: Uint8Array): Uint8Array {
	let start = 0;
	while (start < Math.min(3, bytes.length) && (bytes[start]! & 0xc0) === 0x80) start++;
	return bytes.subarray(start);
}

function sequenceLength(first: number): number {
	return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}
