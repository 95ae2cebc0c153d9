import {type RecordedEntry, RecordingError, type RecordingHeader} from './recording.js';
import {splitLines} from './recording-lines.js';

const MS_PER_SECOND = 1000;
const encoder = new TextEncoder();
/** Largest size that a terminal can have. */
const MAX_DIMENSION = 65_535;
const SIZE = /^(\d{1,5})x(\d{1,5})$/;

export interface Recording {
	readonly header: RecordingHeader;
	/** Can be read once. Throws a `RecordingError` at the first line that cannot be read. */
	readonly entries: AsyncGenerator<RecordedEntry, void, undefined>;
}

type Version = 2 | 3;

/** Reads a recording in the format asciicast, version 2 or 3, from the chunks of its file. */
export async function readAsciicast(
	chunks: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): Promise<Recording> {
	const lines = splitLines(chunks);
	const first = await lines.next();
	if (first.done) throw new RecordingError(1, 'the file is empty');
	const value = parseLine(first.value.text, first.value.number);
	const version = versionOf(value, first.value.number);
	const header = toHeader(value as Record<string, unknown>, version, first.value.number);
	return {header, entries: readEntries(lines, version)};
}

async function* readEntries(
	lines: AsyncGenerator<{text: string; number: number}>,
	version: Version,
): AsyncGenerator<RecordedEntry, void, undefined> {
	let ms = 0;
	for await (const {text, number} of lines) {
		if (text.trim() === '' || text.startsWith('#')) continue;
		const [seconds, code, data] = toEvent(parseLine(text, number), number);
		const time = seconds * MS_PER_SECOND;
		// The older version counts from the beginning. A time that goes backwards is taken for no time.
		ms = version === 2 ? Math.max(ms, time) : ms + Math.max(time, 0);
		const entry = toEntry(ms, code, data, number);
		if (entry) yield entry;
	}
}

function parseLine(text: string, number: number): unknown {
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw new RecordingError(number, 'it is no JSON; the recording may have been cut off', cause);
	}
}

function versionOf(value: unknown, number: number): Version {
	const version = isObject(value) ? value['version'] : undefined;
	if (version === 2 || version === 3) return version;
	if (typeof version === 'number') {
		throw new RecordingError(number, `version ${version} of asciicast cannot be read, only 2 and 3`);
	}
	throw new RecordingError(number, 'it is not the header of an asciicast file');
}

function toHeader(value: Record<string, unknown>, version: Version, number: number): RecordingHeader {
	const term = version === 3 ? value['term'] : {cols: value['width'], rows: value['height']};
	const {cols, rows, type} = isObject(term) ? term : {};
	if (!isDimension(cols) || !isDimension(rows)) throw new RecordingError(number, 'the size of the terminal is missing');
	const {timestamp, command, title, env} = value;
	const variables = isObject(env) ? env : undefined;
	const terminalType = type ?? variables?.['TERM'];
	return {
		cols,
		rows,
		...(typeof terminalType === 'string' && {terminalType}),
		...(typeof timestamp === 'number' && {startedAtMs: timestamp * MS_PER_SECOND}),
		...(typeof command === 'string' && {command}),
		...(typeof title === 'string' && {title}),
		...(variables && {env: onlyStrings(variables)}),
	};
}

function toEvent(value: unknown, number: number): readonly [number, string, string] {
	if (Array.isArray(value)) {
		const [seconds, code, data] = value as unknown[];
		if (typeof seconds === 'number' && typeof code === 'string' && typeof data === 'string')
			return [seconds, code, data];
	}
	throw new RecordingError(number, 'it is no event: a time, a code and a text are expected');
}

/** Undefined for a code that is not known: later versions may add some. */
function toEntry(ms: number, code: string, data: string, number: number): RecordedEntry | undefined {
	switch (code) {
		case 'o':
			return {kind: 'output', ms, bytes: encoder.encode(data)};
		case 'i':
			return {kind: 'input', ms, bytes: encoder.encode(data)};
		case 'r':
			return {kind: 'resize', ms, ...toSize(data, number)};
		case 'm':
			return {kind: 'marker', ms, label: data};
		case 'x':
			return {kind: 'exit', ms, exitCode: toExitCode(data, number)};
		default:
			return undefined;
	}
}

function toSize(data: string, number: number): {readonly rows: number; readonly cols: number} {
	const [, cols, rows] = SIZE.exec(data)?.map(Number) ?? [];
	if (isDimension(cols) && isDimension(rows)) return {rows, cols};
	throw new RecordingError(number, `${JSON.stringify(data)} is no size: COLUMNSxROWS is expected`);
}

function toExitCode(data: string, number: number): number {
	if (/^-?\d{1,10}$/.test(data)) return Number(data);
	throw new RecordingError(number, `${JSON.stringify(data)} is no exit code`);
}

function isDimension(value: unknown): value is number {
	return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_DIMENSION;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function onlyStrings(value: Record<string, unknown>): Record<string, string> {
	return Object.fromEntries(
		Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
	);
}
