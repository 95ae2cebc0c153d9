import type {Files} from '../../../client/files/files.js';
import {encodeBase64} from '../../../shared/base64.js';
import {headerField, headerLine, plainName} from '../answers/header-line.js';
import {groupDigits, isBinary} from '../answers/output-excerpt.js';
import {type AnswerFacts, type CallAnswer, textAnswer} from '../calls/tool-call.js';
import type {MachinePath} from '../machines/machine-set.js';
import {type FilePart, type FoundLines, readFilePart} from './read-file-part.js';
import {answerSize, defineTool} from './tool.js';
import {MAX_CHARS} from './wait-parameters.js';

/** Largest image that is given to a model. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** Entries of a directory in an answer. */
const MAX_ENTRIES = 500;
const SNIFFED_BYTES = 8192;

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
		from: {type: 'integer', min: 0, about: 'or first byte'},
		lines: {type: 'integer', min: 1},
		max_chars: MAX_CHARS,
	},
	async run({path: given, line, from, lines, max_chars}, context, {signal}) {
		if (line !== undefined && from !== undefined) throw new TypeError('line and from exclude each other');
		const place = await context.machines.locate(given);
		const {path, files} = place;
		const {isDirectory, size = 0} = await files.metadata(path);
		if (isDirectory) return listDirectory(place);
		const head = await readHead(files, path, signal);
		const image = IMAGES.find(({begins}) => begins.test(toHex(head)));
		if (image) return readImage(place, image.mimeType, size);
		if (isBinary(head)) {
			const header = headerLine([...namesOf(place), 'not UTF-8: use exec', `binary file, ${groupDigits(size)} bytes`]);
			return textAnswer(header, {...factsOf(place), bytes: size, binary: true});
		}
		const part: FilePart = {
			firstLine: line ?? 1,
			firstByte: from,
			count: lines ?? Number.POSITIVE_INFINITY,
			maxBytes: answerSize(max_chars, context),
			signal,
		};
		return describeLines(place, size, part, await readFilePart(files, path, part));
	},
});

function describeLines(place: MachinePath, size: number, part: FilePart, found: FoundLines): CallAnswer {
	const {text, endByte, behind} = found;
	const header = headerLine([
		...namesOf(place),
		`${groupDigits(size)} bytes`,
		`${describeRange(part, found)}${describeRest(part, found)}`,
		text.includes('\r\n') ? 'line ends CRLF' : undefined,
	]);
	const cut = behind === 'restOfLine' ? [`… the line goes on: read it from ${endByte} …`] : [];
	const answer = textAnswer(header, {}, text.replace(/\r?\n$/, ''), ...cut);
	return {...answer, facts: {...factsOf(place), bytes: size, ...rangeFacts(part, found), text}};
}

function describeRange({firstLine, firstByte}: FilePart, {text, startByte, endByte, count}: FoundLines): string {
	if (firstByte !== undefined) return text === '' ? `no byte ${firstByte}` : `from byte ${startByte} to ${endByte}`;
	if (text === '') return `no line ${firstLine}`;
	return `lines ${groupDigits(firstLine)}-${groupDigits(firstLine + count - 1)}`;
}

function describeRest({firstLine, firstByte}: FilePart, {behind, endByte, count}: FoundLines): string {
	if (behind === 'nothing') return '';
	if (firstByte !== undefined) return `, more from ${endByte} on`;
	if (behind === 'lines') return `, more from line ${firstLine + count} on`;
	return `, line ${firstLine} is cut: more from ${endByte} on`;
}

function rangeFacts({firstLine, firstByte}: FilePart, {startByte, endByte, count, behind}: FoundLines): AnswerFacts {
	return {
		from: startByte,
		...(firstByte === undefined && count > 0 && {first_line: firstLine, last_line: firstLine + count - 1}),
		...(behind === 'restOfLine' && {is_line_cut: true}),
		...(behind !== 'nothing' && {next_from: endByte}),
	};
}

async function listDirectory(place: MachinePath): Promise<CallAnswer> {
	const entries = await place.files.readDirectory(place.path);
	const names = entries.map(({fileName, isDirectory}) => `${fileName}${isDirectory ? '/' : ''}`).sort();
	const shown = names.slice(0, MAX_ENTRIES);
	const rest = names.length > MAX_ENTRIES ? [`… ${names.length - MAX_ENTRIES} more: find`] : [];
	const header = headerLine([...namesOf(place), `directory, ${names.length} entries`]);
	const facts = {...factsOf(place), directory: true, entries: names.length};
	return textAnswer(header, facts, ...shown.map(plainName), ...rest);
}

async function readImage(place: MachinePath, mimeType: string, size: number): Promise<CallAnswer> {
	const text = headerLine([...namesOf(place), mimeType, `${groupDigits(size)} bytes`]);
	const facts = {...factsOf(place), bytes: size, mime_type: mimeType};
	if (size > MAX_IMAGE_BYTES)
		return textAnswer(text, facts, `larger than the ${groupDigits(MAX_IMAGE_BYTES)} bytes that can be shown`);
	return {kind: 'image', text, facts, mimeType, base64: encodeBase64(await place.files.readFile(place.path))};
}

function namesOf({machine, path}: MachinePath): string[] {
	return [headerField(machine.name), headerField(path)];
}

function factsOf({machine, path}: MachinePath): AnswerFacts {
	return {machine: machine.name, path};
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

function toHex(bytes: Uint8Array): string {
	return Array.from(bytes.subarray(0, 16), byte => byte.toString(16).padStart(2, '0')).join('');
}
