import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {readAsciicast} from '../../../src/client/recording/asciicast-reader.js';
import {AsciicastWriter, writeAsciicast} from '../../../src/client/recording/asciicast-writer.js';
import {type RecordedEntry, RecordingError} from '../../../src/client/recording/recording.js';
import {MAX_RECORDING_LINE_LENGTH} from '../../../src/client/recording/recording-lines.js';

const HEADER = {rows: 24, cols: 80};

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
	const list: T[] = [];
	for await (const item of items) list.push(item);
	return list;
}

function outputOf(entries: readonly RecordedEntry[]): Buffer {
	return Buffer.concat(entries.filter(entry => entry.kind === 'output').map(({bytes}) => bytes));
}

function output(ms: number, bytes: string | readonly number[]): RecordedEntry {
	return {kind: 'output', ms, bytes: Buffer.from(bytes as string)};
}

async function written(entries: readonly RecordedEntry[], writer?: AsciicastWriter): Promise<unknown[]> {
	const lines = await collect(writeAsciicast(HEADER, entries, writer));
	const text = lines.join('').split('\n').slice(0, -1);
	return text.map(line => JSON.parse(line) as unknown);
}

async function read(text: string) {
	const {header, entries} = await readAsciicast([text]);
	return {header, entries: await collect(entries)};
}

describe('written', () => {
	test('a recording is a header and events with the seconds between them', async () => {
		const entries: RecordedEntry[] = [
			output(1000, 'a'),
			{kind: 'resize', ms: 1250, rows: 30, cols: 100},
			{kind: 'input', ms: 1250.4, bytes: Buffer.from('y')},
			{kind: 'marker', ms: 1300, label: 'here'},
			output(3000.6, '\x1b[1m"'),
			{kind: 'exit', ms: 3001, exitCode: 3},
		];
		expect(await written(entries)).toEqual([
			{version: 3, term: {cols: 80, rows: 24}},
			[0, 'o', 'a'],
			[0.25, 'r', '100x30'],
			[0, 'i', 'y'],
			[0.05, 'm', 'here'],
			[1.701, 'o', '\x1b[1m"'],
			[0, 'x', '3'],
		]);
	});

	test('the header has the members that are known', () => {
		const header = {
			terminalType: 'xterm',
			startedAtMs: 1_700_000_000_999,
			command: 'make',
			title: 't',
			env: {SHELL: 'sh'},
		};
		expect(JSON.parse(new AsciicastWriter().begin({...HEADER, ...header}))).toEqual({
			version: 3,
			term: {cols: 80, rows: 24, type: 'xterm'},
			timestamp: 1_700_000_000,
			command: 'make',
			title: 't',
			env: {SHELL: 'sh'},
		});
	});

	test('a character that is cut between two chunks stays whole, and one that is never completed is replaced', async () => {
		const writer = new AsciicastWriter();
		const bytes = Buffer.from('é😀');
		const entries = [
			output(0, [...bytes.subarray(0, 1)]),
			output(10, [...bytes.subarray(1, 4)]),
			output(20, [...bytes.subarray(4)]),
		];
		expect((await written(entries, writer)).slice(1)).toEqual([
			[0.01, 'o', 'é'],
			[0.01, 'o', '😀'],
		]);
		expect(writer.replacements).toBe(0);
		const cut = await written([output(0, [0xc3]), {kind: 'exit', ms: 5, exitCode: 0}], writer);
		expect(cut.slice(1).map(event => (event as unknown[]).slice(1))).toEqual([
			['o', '\uFFFD'],
			['x', '0'],
		]);
		expect(writer.replacements).toBe(1);
	});

	test('bytes that are no UTF-8 are replaced and counted, and replacement characters of the text are not', async () => {
		const writer = new AsciicastWriter();
		const genuine = [0xef, 0xbf, 0xbd];
		const entries = [
			output(0, [0xff, 0x41, 0xfe]),
			output(1, genuine),
			output(2, [0xef]),
			output(3, [0xbf]),
			output(4, [0xbd, 0xef, ...genuine]),
		];
		const text = (await written(entries, writer)).slice(1).map(event => (event as unknown[])[2]);
		expect(text.join('')).toBe('\uFFFDA\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD');
		expect(writer.replacements).toBe(3);
	});

	test('text of any chunks comes back as it was, and the times to the millisecond', async () => {
		const chunk = fc.tuple(fc.nat({max: 5000}), fc.uint8Array({minLength: 1, maxLength: 6}));
		await fc.assert(
			fc.asyncProperty(fc.array(chunk), fc.string({unit: 'binary'}), async (parts, text) => {
				let ms = 0;
				const chunks = parts.map(([gap, bytes]) => output((ms += gap), [...bytes]));
				const end = {kind: 'exit', ms: ms + 14, exitCode: 0} as const;
				const entries = [...chunks, output(ms + 7, text), end];
				const bytes = outputOf(entries);
				const lines = await collect(writeAsciicast(HEADER, entries));
				const back = await collect((await readAsciicast(lines)).entries);
				const shown = outputOf(back);
				expect(shown.toString()).toBe(new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes));
				expect(back.at(-1)!.ms).toBeCloseTo(end.ms - entries[0]!.ms, 6);
			}),
		);
	});
});

describe('read', () => {
	test('a file of version 2 counts from its beginning', async () => {
		const text = [
			'{"version": 2, "width": 80, "height": 24, "timestamp": 1504467315, "title": "Demo", "env": {"TERM": "xterm-256color", "N": 1}}',
			'[0.25, "o", "\\u001b[1mhi"]',
			'[1.0, "i", "x"]',
			'[0.5, "r", "100x30"]',
			'[2, "m", ""]',
			'',
			'[3, "z", "later"]',
		].join('\n');
		expect(await read(text)).toEqual({
			header: {
				rows: 24,
				cols: 80,
				terminalType: 'xterm-256color',
				startedAtMs: 1_504_467_315_000,
				title: 'Demo',
				env: {TERM: 'xterm-256color'},
			},
			entries: [
				{kind: 'output', ms: 250, bytes: Uint8Array.from(Buffer.from('\x1b[1mhi'))},
				{kind: 'input', ms: 1000, bytes: Uint8Array.from(Buffer.from('x'))},
				{kind: 'resize', ms: 1000, rows: 30, cols: 100},
				{kind: 'marker', ms: 2000, label: ''},
			],
		});
	});

	test('a file of version 3 counts from event to event, and may have comments', async () => {
		const text =
			'{"version":3,"term":{"cols":10,"rows":5,"type":"vt100"},"command":"sh"}\r\n# note\n[0.5,"o","a"]\n[0.5,"o","b"]\n[1,"x","7"]\n';
		expect(await read(text)).toEqual({
			header: {rows: 5, cols: 10, terminalType: 'vt100', command: 'sh'},
			entries: [
				{kind: 'output', ms: 500, bytes: Uint8Array.of(0x61)},
				{kind: 'output', ms: 1000, bytes: Uint8Array.of(0x62)},
				{kind: 'exit', ms: 2000, exitCode: 7},
			],
		});
	});

	test('chunks of the file may be cut anywhere', async () => {
		const file = Buffer.from('{"version":3,"term":{"cols":9,"rows":9}}\n[0,"o","é😀"]\n[1,"o","x"]');
		const single = Array.from(file, byte => Uint8Array.of(byte));
		const {entries} = await readAsciicast(single);
		expect(await collect(entries)).toHaveLength(2);
	});

	const HEAD = '{"version":3,"term":{"cols":9,"rows":9}}\n';
	test.each([
		['', 'line 1 of the recording: the file is empty'],
		['\x1b[1m no JSON', 'line 1 of the recording: it is no JSON'],
		['[1,"o","x"]', 'line 1 of the recording: it is not the header'],
		['{"version":1,"width":80}', 'line 1 of the recording: version 1 of asciicast cannot be read, only 2 and 3'],
		['{"version":3,"term":{"cols":0,"rows":9}}', 'line 1 of the recording: the size of the terminal is missing'],
		[`${HEAD}[0,"o","a"]\n[0,"o","b`, 'line 3 of the recording: it is no JSON; the recording may have been cut off'],
		[`${HEAD}{"o":1}`, 'line 2 of the recording: it is no event'],
		[`${HEAD}["0","o","x"]`, 'line 2 of the recording: it is no event'],
		[`${HEAD}[0,"r","wide"]`, 'line 2 of the recording: "wide" is no size'],
		[`${HEAD}[0,"r","0x70000"]`, 'line 2 of the recording: "0x70000" is no size'],
		[`${HEAD}[0,"x","well"]`, 'line 2 of the recording: "well" is no exit code'],
	])('a broken file is refused with the line and the reason: %j', async (text, message) => {
		const error = await read(text).catch((reason: unknown) => reason);
		expect(error).toBeInstanceOf(RecordingError);
		expect((error as RecordingError).message).toContain(message);
	});

	test('what comes before a broken line is read', async () => {
		const {entries} = await readAsciicast([`${HEAD}[0,"o","a"]\n[0,"o`]);
		expect((await entries.next()).value).toMatchObject({kind: 'output'});
		await expect(entries.next()).rejects.toThrow('line 3');
	});

	test('a line without an end is refused before it fills the memory', async () => {
		const part = 'x'.repeat(1024 * 1024);
		let given = 0;
		function* endless(): Generator<string> {
			for (;;) {
				given += part.length;
				yield part;
			}
		}
		await expect(readAsciicast(endless())).rejects.toThrow(`longer than ${MAX_RECORDING_LINE_LENGTH} characters`);
		expect(given).toBeLessThanOrEqual(MAX_RECORDING_LINE_LENGTH + part.length);
	});
});
