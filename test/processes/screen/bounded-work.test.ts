import {setImmediate as nextTick} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {plainText} from '../../../src/mcp/server/answers/plain-text.js';
import {Screens} from '../../../src/processes/screen/screens.js';
import {MAX_TITLE_LENGTH} from '../../../src/processes/screen/terminal-model.js';
import {RecordedScreen} from '../../helpers/screen-events.js';

/** Processor time that a tick of the event loop may take here; sequences that repeat without a limit take minutes. */
const MAX_TICK_CPU_MS = 1000;
const HUGE = 2_147_483_647;
const SIZES = [
	{rows: 24, columns: 80},
	{rows: 1, columns: 1000},
	{rows: 1000, columns: 2},
	{rows: 131, columns: 1000},
];

/** Draws the output and returns the processor time of the longest tick. */
async function longestTickMs(output: string, size = {rows: 24, columns: 80}): Promise<number> {
	const source = new RecordedScreen(size);
	for (const part of output.match(/[^]{1,65536}/gu) ?? []) source.output(part);
	return longestDrawingTickMs(source);
}

async function longestDrawingTickMs(source: RecordedScreen): Promise<number> {
	const state = {isDone: false};
	let longest = 0;
	const watch = async (): Promise<void> => {
		while (!state.isDone) {
			const before = process.cpuUsage();
			await nextTick();
			const {user, system} = process.cpuUsage(before);
			longest = Math.max(longest, (user + system) / 1000);
		}
	};
	const watching = watch();
	try {
		await new Screens().render(source, {format: 'text'});
	} finally {
		state.isDone = true;
	}
	await watching;
	return longest;
}

/** Numbers that look random and are the same in every run. */
function createRandom(seed: number): (below: number) => number {
	let state = seed;
	return below => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

function pick<T>(random: (below: number) => number, list: ArrayLike<T>): T {
	return list[random(list.length)]!;
}

/** A sequence with any prefix, parameters, subparameters, intermediate and final character. */
function hostileSequence(random: (below: number) => number): string {
	const huge = [String(HUGE), `000000000000${HUGE}`, '4294967295', '99999999999999'];
	const numbers = ['', '0', '1', '2', '4', '5', '999', '65535', ...huge, '1049', '47'];
	const parameters = Array.from({length: random(4) === 0 ? 40 : random(4)}, () => pick(random, numbers));
	const separator = pick(random, [';', ';', ';', ':']);
	switch (random(8)) {
		case 0:
			return `\x1b${pick(random, ['c', 'M', 'D', 'E', 'H', '7', '8', '#8'])}`;
		case 1:
			return pick(random, ['x', 'é\u0301\u0301', '漢', '\n', '\t', '\b', '\x1b[4h', '\x1b[2;9r', '\x1b[3g']);
		case 2:
			return `\x1b]${pick(random, [0, 1, 2, 4, 8, 10, 52, 104])};${';x'.repeat(random(300))}\x07`;
		case 3:
			return `\x1bP${pick(random, ['q', '$q', '+q'])}${'!9999~'.repeat(random(100))}\x1b\\`;
		default: {
			const final = String.fromCharCode(0x40 + random(0x3f));
			const prefix = pick(random, ['', '', '', '?', '>']);
			// The second is the same in one character, of 8 bits.
			return `${pick(random, ['\x1b[', '\u009b'])}${prefix}${parameters.join(separator)}${pick(random, ['', '', '', ' ', "'", '$', '"'])}${final}`;
		}
	}
}

test.each(SIZES)(
	'no sequence occupies the event loop: $rows rows of $columns columns',
	{timeout: 120_000},
	async size => {
		for (let seed = 1; seed <= 12; seed++) {
			const random = createRandom(seed);
			const output = Array.from({length: 60}, () => hostileSequence(random)).join('');
			expect(await longestTickMs(output, size)).toBeLessThan(MAX_TICK_CPU_MS);
		}
	},
);

test('sequences in pieces of any size, between changes of size, do not occupy the event loop', {
	timeout: 120_000,
}, async () => {
	for (let seed = 1; seed <= 6; seed++) {
		const random = createRandom(seed);
		const source = new RecordedScreen(pick(random, SIZES));
		const output = Buffer.from(Array.from({length: 60}, () => hostileSequence(random)).join(''));
		for (let at = 0; at < output.length; ) {
			const end = at + 1 + random(40);
			source.output(output.subarray(at, end));
			at = end;
			if (random(30) === 0) source.resize(pick(random, [1, 2, 24, 1000]), pick(random, [1, 2, 80, 1000]));
		}
		expect(await longestDrawingTickMs(source)).toBeLessThan(MAX_TICK_CPU_MS);
	}
});

test.each('@ABCDEFGHIJKLMPSTXZ`abdefghlmnrstu'.split(''))('CSI %s with the largest number is bounded', async final => {
	for (const size of SIZES) {
		const output = `x\x1b[${HUGE};${HUGE}${final}`.repeat(20);
		expect(await longestTickMs(output, size)).toBeLessThan(MAX_TICK_CPU_MS);
	}
});

test('a character is repeated in insert mode no more often than the screen is large', async () => {
	const output = `\x1b[4h${'x\x1b[1000b'.repeat(400)}`;
	expect(await longestTickMs(output, {rows: 1, columns: 1000})).toBeLessThan(MAX_TICK_CPU_MS);
});

test.each([0, 2, 4, 8, 10, 52, 104])('an OSC %i of megabytes is not interpreted', {timeout: 60_000}, async command => {
	const output = `\x1b]${command}${';'.repeat(3_000_000)}\x07ok`;
	expect(await longestTickMs(output)).toBeLessThan(MAX_TICK_CPU_MS);
	const source = new RecordedScreen().output(output);
	const {lines, title} = await new Screens().render(source, {format: 'text'});
	expect(lines[0]).toBe('ok');
	expect(title.length).toBeLessThanOrEqual(MAX_TITLE_LENGTH);
});

test('an event that takes seconds is drawn in part, the rest counts as missed and later output is shown', async () => {
	const source = new RecordedScreen({rows: 131, columns: 1000}).output('\x1bc'.repeat(128 * 1024)).output('\x1bcnext');
	const {lines, missedBytes} = await new Screens().render(source, {format: 'text'});
	expect(missedBytes).toBeGreaterThan(0);
	expect(lines[0]).toBe('next');
}, 120_000);

test('a request has a limit of time, and the next one continues', async () => {
	const source = new RecordedScreen({rows: 131, columns: 1000});
	for (let event = 0; event < 50; event++) source.output('\x1bc'.repeat(20));
	source.output('end');
	const screens = new Screens({maxRequestSlices: 3});
	const results: unknown[] = [];
	while (!(results.at(-1) as {seq?: number} | undefined)?.seq) {
		results.push(await screens.render(source, {format: 'text'}).catch((error: unknown) => error));
	}
	expect(results.pop()).toMatchObject({seq: 51});
	const refusals = results.length;
	for (const refusal of results) expect(refusal).toMatchObject({code: 'SCREEN_UNFINISHED'});
	expect(refusals).toBeGreaterThan(0);
	expect(refusals).toBeLessThan(51);
}, 120_000);

test('text with many carriage returns is made plain in time', () => {
	expect(plainText(`a${'\r'.repeat(1_000_000)}b\r\r\nc`)).toBe('b\nc');
});
