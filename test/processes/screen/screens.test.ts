import {setImmediate as nextTick} from 'node:timers/promises';
import {expect, test, vi} from 'vitest';
import {OutputLog} from '../../../src/processes/output/output-log.js';
import {MAX_CHECKPOINTS} from '../../../src/processes/screen/checkpoints.js';
import {LogScreenSource} from '../../../src/processes/screen/log-screen-source.js';
import {CHECKPOINTS_IDLE_MS, MAX_LIVE_MODELS, MODEL_IDLE_MS, Screens} from '../../../src/processes/screen/screens.js';
import {MAX_RECORDED_SIZES, TerminalSizes} from '../../../src/processes/screen/terminal-sizes.js';
import {stopClock} from '../../helpers/clock.js';
import {eventually} from '../../helpers/processes.js';
import {RecordedScreen} from '../../helpers/screen-events.js';

const SIZE = {rows: 3, columns: 20};
const TEXT = {format: 'text'} as const;

/** So many lines, each an event. */
function counting(lines: number): RecordedScreen {
	const source = new RecordedScreen(SIZE);
	for (let line = 1; line <= lines; line++) source.output(`\r\nline ${line}`);
	return source;
}

test('a screen that is asked for again is fed with new output only', async () => {
	const screens = new Screens();
	const source = counting(100);
	await screens.render(source, TEXT);
	const {deliveredBytes} = source;
	source.output('!');
	expect(await screens.render(source, TEXT)).toMatchObject({lines: ['line 98', 'line 99', 'line 100!'], seq: 101});
	expect(source.deliveredBytes).toBe(deliveredBytes + 1);
});

test('a past screen is made from the checkpoint before it, and the present one stays', async () => {
	const screens = new Screens({checkpointSpacingBytes: 100});
	const source = counting(1000);
	await screens.render(source, TEXT);
	source.deliveredBytes = 0;
	expect(await screens.render(source, {atSeq: 500, ...TEXT})).toMatchObject({
		lines: ['line 498', 'line 499', 'line 500'],
	});
	expect(source.deliveredBytes).toBeLessThan(1000);
	source.deliveredBytes = 0;
	await screens.render(source, TEXT);
	expect(source.deliveredBytes).toBe(0);
});

test('checkpoints are thinned out when there are too many, and the screens are the same', async () => {
	const screens = new Screens({checkpointSpacingBytes: 10});
	const source = counting(2000);
	await screens.render(source, TEXT);
	expect(screens.checkpoints).toBeLessThanOrEqual(MAX_CHECKPOINTS);
	expect(screens.checkpoints).toBeGreaterThan(MAX_CHECKPOINTS / 4);
	for (const atSeq of [3, 77, 1024, 1999]) {
		const {lines, seq} = await screens.render(source, {atSeq, ...TEXT});
		expect({lines, seq}).toEqual({lines: [atSeq - 2, atSeq - 1, atSeq].map(line => `line ${line}`), seq: atSeq});
	}
});

test('requests for one process at once, and for others, get each its own screen', async () => {
	const screens = new Screens({checkpointSpacingBytes: 64});
	const sources = [counting(300), counting(200), counting(100)];
	const asked = sources.flatMap(source => [50, 10, 99].map(atSeq => screens.render(source, {atSeq, ...TEXT})));
	const shown = (await Promise.all(asked)).map(({lines}) => lines.at(-1));
	expect(shown).toEqual(sources.flatMap(() => ['line 50', 'line 10', 'line 99']));
});

test('a moment is asked for by its time, with the size of then', async () => {
	const screens = new Screens();
	const source = new RecordedScreen(SIZE).output('one').resize(2, 30).output(' two').resize(4, 10);
	const at = async (atMs?: number) => {
		const {rows, cols, lines, seq} = await screens.render(source, {atMs, ...TEXT});
		return {rows, cols, first: lines[0], seq};
	};
	expect(await at()).toEqual({rows: 4, cols: 10, first: 'one two', seq: 2});
	expect(await at(0)).toEqual({rows: 3, cols: 20, first: '', seq: 0});
	expect(await at(1)).toEqual({rows: 3, cols: 20, first: 'one', seq: 1});
	expect(await at(2)).toEqual({rows: 2, cols: 30, first: 'one', seq: 1});
	expect(await at(3.5)).toEqual({rows: 2, cols: 30, first: 'one two', seq: 2});
	expect(await at(1e15)).toEqual({rows: 4, cols: 10, first: 'one two', seq: 2});
	expect(await screens.render(source, {atSeq: 1, ...TEXT})).toMatchObject({rows: 3, cols: 20});
	expect(await screens.render(source, {atSeq: 99, ...TEXT})).toMatchObject({rows: 4, seq: 2});
});

test('of the models only those that were asked for last are kept', async () => {
	const screens = new Screens();
	const sources = Array.from({length: MAX_LIVE_MODELS + 5}, () => counting(5));
	for (const source of sources) await screens.render(source, TEXT);
	await nextTick();
	expect(screens.liveModels).toBe(MAX_LIVE_MODELS);
	sources[0]!.deliveredBytes = 0;
	expect(await screens.render(sources[0]!, TEXT)).toMatchObject({lines: ['line 3', 'line 4', 'line 5']});
	expect(sources[0]!.deliveredBytes).toBe(0);
});

test('a model is freed when it was not asked for, and later everything of its process', async () => {
	stopClock();
	const screens = new Screens();
	const source = counting(5);
	await screens.render(source, TEXT);
	expect([screens.liveModels, screens.checkpoints]).toEqual([1, 0]);
	vi.advanceTimersByTime(MODEL_IDLE_MS);
	await eventually(() => screens.checkpoints === 1);
	expect(screens.liveModels).toBe(0);
	vi.advanceTimersByTime(CHECKPOINTS_IDLE_MS);
	expect([screens.liveModels, screens.checkpoints]).toEqual([0, 0]);
	expect(await screens.render(source, TEXT)).toMatchObject({lines: ['line 3', 'line 4', 'line 5']});
});

test('a request can be given up, and the next one goes on from there', async () => {
	const screens = new Screens();
	const source = counting(20_000);
	const controller = new AbortController();
	const first = screens.render(source, {signal: controller.signal, ...TEXT});
	await nextTick();
	controller.abort(new Error('gone'));
	await expect(first).rejects.toThrow('gone');
	await expect(screens.render(source, {signal: controller.signal, ...TEXT})).rejects.toThrow('gone');
	expect(await screens.render(source, TEXT)).toMatchObject({lines: ['line 19998', 'line 19999', 'line 20000']});
	screens.clear();
	expect(screens.liveModels).toBe(0);
});

test('output that its log has evicted is told as missed', async () => {
	const log = new OutputLog({bytes: 12, chunks: 100});
	const sizes = new TerminalSizes(SIZE);
	const source = new LogScreenSource(log, log, sizes);
	const screens = new Screens();
	for (const text of ['\x1b[31mlost', ' too\r\n', 'kept\r\n']) log.append('pty', Buffer.from(text));
	expect(await screens.render(source, TEXT)).toEqual({
		rows: 3,
		cols: 20,
		cursor: {row: 2, col: 0, isVisible: true},
		alternate: false,
		title: '',
		lines: [' too', 'kept', ''],
		seq: 3,
		missedBytes: 9,
	});
	for (const text of ['in a sequ\x1b[', 'never read', 'last']) log.append('pty', Buffer.from(text));
	expect(await screens.render(source, TEXT)).toMatchObject({lines: [' too', 'kept', 'last'], seq: 6, missedBytes: 30});
	// The gap reaches beyond the event that is asked for.
	expect(await new Screens().render(source, {atSeq: 2, ...TEXT})).toMatchObject({seq: 0, missedBytes: 42});
});

test('sizes are kept in order, the latest ones only, and the same one counts once', () => {
	const sizes = new TerminalSizes(SIZE);
	sizes.record(1, SIZE);
	expect(sizes.from(0)).toEqual([]);
	for (let change = 1; change <= MAX_RECORDED_SIZES + 2; change++) sizes.record(change, {rows: change, columns: 9});
	expect(sizes.from(0)).toHaveLength(MAX_RECORDED_SIZES);
	expect(sizes.initial).toEqual({rows: 2, columns: 9});
	expect(sizes.current).toEqual({rows: MAX_RECORDED_SIZES + 2, columns: 9});
	expect(sizes.from(MAX_RECORDED_SIZES + 2)).toEqual([{seq: MAX_RECORDED_SIZES + 2, size: sizes.current}]);
});
