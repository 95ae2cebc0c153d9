import type {Files} from '../../../client/files/files.js';
import {encodeBase64} from '../../../shared/base64.js';
import {headerField, headerLine} from '../answers/header-line.js';
import {groupDigits, isBinary} from '../answers/output-excerpt.js';
import {type CallAnswer, textAnswer} from '../calls/tool-call.js';
import {answerSize, defineTool} from './tool.js';
import {MAX_CHARS} from './wait-parameters.js';

/** Largest image that is given to a model. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** Bytes of a file that are read to find a line. */
const MAX_SCANNED_BYTES = 64 * 1024 * 1024;
/** Entries of a directory in an answer. */
const MAX_ENTRIES = 500;
const SNIFFED_BYTES = 8192;
const NEWLINE = 0x0a;

/** First bytes of images that clients show. */
const IMAGES: readonly {readonly mimeType: string; readonly begins: RegExp}[] = [
	{mimeType: 'image/png', begins: /^89504e470d0a1a0a/},
	{mimeType: 'image/jpeg', begins: /^ffd8ff/},
	{mimeType: 'image/gif', begins: /^474946383[79]61/},
	{mimeType: 'image/webp', begins: /^52494646.{8}57454250/},
];

export const READ_TOOL = defineTool({
	name: 'read',
	description: 'Read a file (text by lines, or an image) or list a directory.',
	groups: ['files'],
	isReadOnly: true,
	parameters: {
		path: {type: 'string', isRequired: true, about: 'MACHINE:PATH'},
		line: {type: 'integer', min: 1, about: 'first line'},
		lines: {type: 'integer', min: 1},
		max_chars: MAX_CHARS,
	},
	async run({path: given, line = 1, lines, max_chars}, context, {signal}) {
		const {machine, path} = await context.machines.locate(given);
		const {files} = machine.environment;
		const {isDirectory, size = 0} = await files.metadata(path);
		const names = [headerField(machine.name), headerField(path)];
		if (isDirectory) return listDirectory(files, path, names);
		const head = await readHead(files, path, signal);
		const image = IMAGES.find(({begins}) => begins.test(toHex(head)));
		if (image) return readImage(files, path, {mimeType: image.mimeType, size, names});
		if (isBinary(head)) return textAnswer(headerLine([...names, `binary file, ${groupDigits(size)} bytes`]));
		const range = await readLines(files, path, {
			first: line,
			count: lines ?? Number.POSITIVE_INFINITY,
			maxBytes: answerSize(max_chars, context),
			signal,
		});
		const last = line + range.count - 1;
		const shown = range.count === 0 ? `no line ${line}` : `lines ${groupDigits(line)}-${groupDigits(last)}`;
		const more = range.isCut ? `, more from line ${last + 1} on` : '';
		return textAnswer(headerLine([...names, `${groupDigits(size)} bytes`, `${shown}${more}`]), range.text);
	},
});

async function listDirectory(files: Files, path: string, names: readonly string[]): Promise<CallAnswer> {
	const entries = await files.readDirectory(path);
	const lines = entries.map(({fileName, isDirectory}) => `${headerField(fileName)}${isDirectory ? '/' : ''}`).sort();
	const rest = lines.length > MAX_ENTRIES ? [`… ${lines.length - MAX_ENTRIES} more: find`] : [];
	return textAnswer(
		headerLine([...names, `directory, ${lines.length} entries`]),
		...lines.slice(0, MAX_ENTRIES),
		...rest,
	);
}

interface ImageFile {
	readonly mimeType: string;
	readonly size: number;
	readonly names: readonly string[];
}

async function readImage(files: Files, path: string, {mimeType, size, names}: ImageFile): Promise<CallAnswer> {
	const text = headerLine([...names, mimeType, `${groupDigits(size)} bytes`]);
	if (size > MAX_IMAGE_BYTES)
		return textAnswer(text, `larger than the ${groupDigits(MAX_IMAGE_BYTES)} bytes that can be shown`);
	return {kind: 'image', text, mimeType, base64: encodeBase64(await files.readFile(path))};
}

async function readHead(files: Files, path: string, signal: AbortSignal): Promise<Uint8Array> {
	const head = new Uint8Array(SNIFFED_BYTES);
	let length = 0;
	for await (const chunk of files.readStream(path, {signal, blockBytes: SNIFFED_BYTES})) {
		const taken = chunk.subarray(0, SNIFFED_BYTES - length);
		head.set(taken, length);
		length += taken.length;
		if (length === SNIFFED_BYTES) break;
	}
	return head.subarray(0, length);
}

interface LineRange {
	readonly first: number;
	readonly count: number;
	readonly maxBytes: number;
	readonly signal: AbortSignal;
}

interface FoundLines {
	readonly text: string;
	/** Whole or partial lines in the text. */
	readonly count: number;
	/** There are more. */
	readonly isCut: boolean;
}

/** Lines of a file of any size, with memory for those lines only. */
async function readLines(files: Files, path: string, {first, count, maxBytes, signal}: LineRange): Promise<FoundLines> {
	const kept: Uint8Array[] = [];
	let keptBytes = 0;
	let line = 1;
	let scanned = 0;
	let isCut = false;
	reading: for await (const chunk of files.readStream(path, {signal})) {
		scanned += chunk.length;
		if (scanned > MAX_SCANNED_BYTES && line < first)
			throw new Error(`line ${first} is behind the first ${groupDigits(MAX_SCANNED_BYTES)} bytes; use exec`);
		for (let at = 0; at < chunk.length; ) {
			if (line >= first + count || keptBytes >= maxBytes) {
				isCut = true;
				break reading;
			}
			const newline = chunk.indexOf(NEWLINE, at);
			const end = newline < 0 ? chunk.length : newline + 1;
			if (line >= first) {
				const piece = chunk.subarray(at, Math.min(end, at + maxBytes - keptBytes));
				kept.push(new Uint8Array(piece));
				keptBytes += piece.length;
				if (piece.length < end - at) {
					isCut = true;
					break reading;
				}
			}
			if (newline >= 0) line++;
			at = end;
		}
	}
	const text = new TextDecoder().decode(Buffer.concat(kept));
	const whole = text.endsWith('\n') ? text.slice(0, -1) : text;
	return {text: whole, count: keptBytes === 0 ? 0 : whole.split('\n').length, isCut};
}

function toHex(bytes: Uint8Array): string {
	return Array.from(bytes.subarray(0, 16), byte => byte.toString(16).padStart(2, '0')).join('');
}
