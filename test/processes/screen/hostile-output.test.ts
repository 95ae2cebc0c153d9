import {expect, test, vi} from 'vitest';
import {MAX_JOINED_CHARACTERS} from '../../../src/processes/screen/character-width.js';
import {Screens} from '../../../src/processes/screen/screens.js';
import {
	MAX_SCREEN_CELLS,
	MAX_SCREEN_COLUMNS,
	MAX_TITLE_LENGTH,
	TerminalModel,
} from '../../../src/processes/screen/terminal-model.js';
import {RecordedScreen} from '../../helpers/screen-events.js';

const CONTROL = /\p{Cc}/u;
/** Sequences that set colours and attributes. */
const ATTRIBUTES = new RegExp(String.raw`\u001B\[[\d;]*m`, 'gu');

async function drawn(output: string, format: 'text' | 'ansi' = 'text', size = {rows: 3, columns: 20}) {
	return new Screens().render(new RecordedScreen(size).output(output), {format});
}

test('a title has no control characters and an end', async () => {
	const {title} = await drawn(`\x1b]0;a\tb\u2028c\u202Ed${'é'.repeat(2 * MAX_TITLE_LENGTH)}\x07`);
	expect(title).toMatch(/^abcdé+$/);
	expect(title.length).toBeLessThanOrEqual(MAX_TITLE_LENGTH);
	expect((await drawn(`\x1b]2;${'x'.repeat(MAX_TITLE_LENGTH - 1)}😀\x07`)).title).toBe(
		'x'.repeat(MAX_TITLE_LENGTH - 1),
	);
});

test('lines have no control characters, and with colours only sequences for those', async () => {
	const output =
		'a\u202Eb\u2028c\x1b]8;;javascript:x\x07link\x1b]8;;\x07\x1b]52;c;aGk=\x07\x1b[1mbold\x1bPq#0\x1b\\\x9b31mred\x7f';
	expect((await drawn(output)).lines[0]).toBe('ab clinkboldred');
	const {lines} = await drawn(output, 'ansi');
	expect(lines[0]).toBe('ab clink\x1b[0;1mbold\x1b[0;1;31mred\x1b[0m');
	for (const line of lines) expect(line.replaceAll(ATTRIBUTES, '')).not.toMatch(CONTROL);
});

test('every colour and attribute is written, and each line ends without any', async () => {
	const samples = [
		'1',
		'2',
		'3',
		'4',
		'5',
		'7',
		'8',
		'9',
		'53',
		'31',
		'97',
		'42',
		'107',
		'38;5;100',
		'48;5;255',
		'38;2;1;2;3',
		'48;2;9;8;7',
	];
	const {lines} = await drawn(samples.map(numbers => `\x1b[${numbers}mx\x1b[0m`).join(''), 'ansi');
	expect(lines[0]).toBe(`${samples.map(numbers => `\x1b[0;${numbers}mx`).join('')}\x1b[0m`);
	expect((await drawn('\x1b[41m\x1b[K', 'ansi')).lines[0]).toBe(`\x1b[0;41m${' '.repeat(20)}\x1b[0m`);
	expect((await drawn('\x1b[32ma\x1b[m   b', 'ansi')).lines[0]).toBe('\x1b[0;32ma\x1b[0m   b');
	expect((await drawn('\x1b[38:5:12;4:3mx', 'ansi')).lines[0]).toBe('\x1b[0;4;94mx\x1b[0m');
});

test('line drawing characters are the ones that are seen', async () => {
	expect((await drawn('\x1b(0lqk\x1b(Blqk')).lines[0]).toBe('┌─┐lqk');
});

test('a cell takes a few combining characters, and a terminal of any length keeps its size', async () => {
	const {lines} = await drawn(`a${'\u0301'.repeat(100_000)}`, 'text', {rows: 4, columns: 10});
	expect(lines).toHaveLength(4);
	expect(lines.join('').length).toBeLessThanOrEqual(4 * 10 * (MAX_JOINED_CHARACTERS + 1));
	const separated = await drawn(`a${'\x1b[m\u0301'.repeat(10_000)}`, 'text', {rows: 4, columns: 10});
	expect(separated.lines.join('').length).toBeLessThanOrEqual(4 * 10 * (MAX_JOINED_CHARACTERS + 1));
});

test('a character is not repeated more often than a line is long', async () => {
	expect((await drawn('x\x1b[2147483647bx\x1b[21bx\x1b[5by')).lines).toEqual(['xxxxxxxxy', '', '']);
});

test.each(['S', 'T', 'L', 'M', 'I', 'Z'])('CSI %s with a count does what as many single ones do', async final => {
	const lines = Array.from({length: 8}, (_, index) => `\x1b[3${index}mline\t${index}`).join('\r\n');
	for (const region of ['', '\x1b[2;6r', '\x1b[5;6r']) {
		for (const count of [1, 2, 3, 7, 8, 30]) {
			const before = `${lines}\x1b[41m${region}\x1b[3;4H`;
			const counted = await drawn(`${before}\x1b[${count}${final}x`, 'ansi', {rows: 8, columns: 30});
			const single = await drawn(`${before}${`\x1b[${final}`.repeat(count)}x`, 'ansi', {rows: 8, columns: 30});
			expect(counted).toMatchObject({lines: single.lines, cursor: single.cursor});
		}
	}
});

test.each(['S', 'T', 'L', 'M', 'I', 'Z'])(
	'CSI %s with the largest count takes no longer than the screen is large',
	async final => {
		const huge = await drawn(`one\r\ntwo\x1b[1;3H\x1b[2147483647${final}x`);
		expect(huge).toMatchObject(await drawn(`one\r\ntwo\x1b[1;3H\x1b[20${final}x`));
	},
);

test('the size is bounded, whatever the terminal was set to', async () => {
	for (const size of [
		{rows: 65_535, columns: 65_535},
		{rows: 65_535, columns: 1},
		{rows: 0, columns: 0},
	]) {
		const {rows, cols, lines} = await drawn('ok', 'text', size);
		expect(rows * cols).toBeLessThanOrEqual(MAX_SCREEN_CELLS);
		expect(cols).toBeLessThanOrEqual(MAX_SCREEN_COLUMNS);
		expect(lines).toHaveLength(rows);
		expect(lines[0]).toBe('ok');
	}
});

test('questions of a program are not answered, and nothing is written to the console', async () => {
	const write = vi.spyOn(process.stdout, 'write');
	const complaint = vi.spyOn(process.stderr, 'write');
	const questions =
		'\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?1$p\x1b[18t\x1b[21t\x1bP$qm\x1b\\\x1b]10;?\x07\x1b]4;1;?\x07\x1b[8;50;50t';
	const {lines, rows, cols} = await drawn(`${questions}\x1b[?3h\x1b[9999999999999999z\x1b]9;x`);
	expect({lines, rows, cols}).toEqual({lines: ['', '', ''], rows: 3, cols: 20});
	expect(write).not.toHaveBeenCalled();
	expect(complaint).not.toHaveBeenCalled();
	vi.restoreAllMocks();
});

test('output that the model fails on is counted as missed, and the rest is shown', async () => {
	const failing = vi.spyOn(TerminalModel.prototype, 'write').mockImplementationOnce(() => {
		throw new TypeError('no such line');
	});
	const source = new RecordedScreen({rows: 3, columns: 20}).output('lost').output('shown');
	expect(await new Screens().render(source, {format: 'text'})).toMatchObject({
		lines: ['shown', '', ''],
		missedBytes: 4,
	});
	failing.mockRestore();
});

test('sequences that fill a large screen do not keep others waiting', async () => {
	const screens = new Screens();
	const heavy = new RecordedScreen({rows: 500, columns: 250});
	for (let chunk = 0; chunk < 4; chunk++) heavy.output('\x1b#8\x1b[2J'.repeat(100));
	const order: string[] = [];
	const done = screens.render(heavy, {format: 'text'}).then(() => order.push('heavy'));
	await screens.render(new RecordedScreen().output('light'), {format: 'text'}).then(() => order.push('light'));
	await done;
	expect(order).toEqual(['light', 'heavy']);
});
