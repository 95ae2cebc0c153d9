import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {Screens} from '../../../src/processes/screen/screens.js';
import {TerminalModel} from '../../../src/processes/screen/terminal-model.js';
import {RecordedScreen} from '../../helpers/screen-events.js';

const small = fc.integer({min: 0, max: 30});
const numbers = fc.array(small, {maxLength: 3}).map(list => list.join(';'));
const texts = fc.constantFrom(
	'a',
	'hello world ',
	'漢字',
	'😀',
	'e\u0301',
	'\u0301',
	'\t',
	'\r\n',
	'\n',
	'\r',
	'\b',
	'x'.repeat(90),
);
const attributes = fc.constantFrom(
	0,
	1,
	2,
	3,
	4,
	7,
	8,
	9,
	22,
	27,
	31,
	42,
	53,
	94,
	105,
	'38;5;200',
	'48;2;1;2;3',
	'4:3',
	'58;5;9',
);
const modes = fc.constantFrom(
	'4',
	'20',
	'?1',
	'?6',
	'?7',
	'?25',
	'?45',
	'?47',
	'?1047',
	'?1048',
	'?1049',
	'?2004',
	'?2026',
);
const sequences = fc.oneof(
	{weight: 4, arbitrary: texts},
	fc
		.tuple(numbers, fc.constantFrom(...'@ABCDEFGHIJKLMPSTXZ`abdefgrsu'.split('')))
		.map(([list, final]) => `\x1b[${list}${final}`),
	fc.tuple(numbers, fc.constantFrom(' @', ' A', "'}", "'~", '!p', '"q')).map(([list, final]) => `\x1b[${list}${final}`),
	attributes.map(number => `\x1b[${number}m`),
	fc.tuple(modes, fc.constantFrom('h', 'l')).map(([mode, final]) => `\x1b[${mode}${final}`),
	fc.constantFrom(...'78DEHMcno|}~=>'.split(''), '#8', '%G', '(0', '(B', ')0', '*A', '\\').map(rest => `\x1b${rest}`),
	fc.constantFrom(
		'\x0e',
		'\x0f',
		'\x07',
		'\x18',
		'\x9b1m',
		'\x1b]0;title\x07',
		'\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\',
	),
	fc.constantFrom('\x1b]52;c;aGk=\x07', '\x1bP$qm\x1b\\', '\x1b_Gf=1\x1b\\', '\x1b[6n', '\x1b[c', '\x1b[?2026$p'),
);
/** Bytes of many sequences, cut at any place, and sizes in between. */
const soup = fc.tuple(
	fc.array(sequences, {minLength: 1, maxLength: 120}),
	fc.array(fc.nat(), {maxLength: 30}),
	fc.boolean(),
);

function toRecording([parts, cuts, hasNoise]: readonly [string[], number[], boolean]): RecordedScreen {
	const bytes = Buffer.from(parts.join(''));
	if (hasNoise) for (const cut of cuts.slice(0, 4)) bytes[cut % bytes.length] = cut & 0xff;
	const recording = new RecordedScreen({rows: 6, columns: 20});
	let from = 0;
	for (const cut of [...new Set(cuts.map(each => each % bytes.length))].sort((a, b) => a - b)) {
		if (cut > from) recording.output(bytes.subarray(from, cut));
		if (cut % 7 === 3) recording.resize(2 + (cut % 9), 5 + (cut % 23));
		from = cut;
	}
	return recording.output(bytes.subarray(from));
}

test('the screen after any event is that of a new terminal that was given everything up to it', async () => {
	await fc.assert(
		fc.asyncProperty(soup, fc.array(fc.nat(), {minLength: 1, maxLength: 8}), async (given, asked) => {
			const recording = toRecording(given);
			const screens = new Screens({checkpointSpacingBytes: 16});
			for (const number of asked) {
				const at = number % recording.events.length;
				const event = recording.events[at]!;
				const request = event.kind === 'resize' ? {atMs: event.ms!} : {atSeq: event.seq};
				const {seq, ...picture} = await screens.render(recording, {...request, format: 'ansi'});
				expect(picture).toEqual((await recording.modelAfter(at + 1)).draw('ansi'));
				expect(seq).toBe(event.seq);
			}
			const {seq, ...present} = await screens.render(recording, {format: 'ansi'});
			expect(present).toEqual((await recording.modelAfter(recording.events.length)).draw('ansi'));
			expect(seq).toBe(recording.lastSeq);
		}),
		{numRuns: 300},
	);
});

test('a restored terminal goes on like the one it was copied from', async () => {
	await fc.assert(
		fc.asyncProperty(soup, fc.array(sequences, {maxLength: 40}), async (given, rest) => {
			const original = await toRecording(given).modelAfter(Number.POSITIVE_INFINITY);
			const state = original.capture();
			if (!state) return;
			const restored = await TerminalModel.restore(structuredClone(state));
			for (const model of [original, restored]) {
				model.write(Buffer.from(rest.join('')));
				model.resize({rows: 9, columns: 13});
				model.write(Buffer.from(rest.join('')));
				model.resize({rows: 4, columns: 31});
			}
			expect(restored.draw('ansi')).toEqual(original.draw('ansi'));
		}),
		{numRuns: 300},
	);
});
