import {randomBytes} from 'node:crypto';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {assert, float, nat, option, property, record, string} from 'fast-check';
import {expect, test} from 'vitest';
import {ProgressLine, Rate} from '../../src/cli/common/progress/progress-line.js';
import {progressLine} from '../../src/cli/common/progress/progress-text.js';
import {run as runCommand} from '../helpers/command.js';
import {cutProxy} from '../helpers/cut-proxy.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {onTerminal, TerminalCommand} from '../helpers/terminal.js';

const MiB = 1024 * 1024;

test('a line has the name, the bar, the share, the bytes, the rate and the time left', () => {
	const state = {label: 'file.bin', bytes: 25 * MiB, total: 100 * MiB, rate: 5 * MiB};
	expect(progressLine(state, 90)).toBe(
		'file.bin  [#######                     ]   25%  25.0 MiB/100.0 MiB  5.0 MiB/s  0:15 left',
	);
	expect(progressLine(state, 62)).toBe('file.bin   25%  25.0 MiB/100.0 MiB  5.0 MiB/s  0:15 left');
	expect(progressLine(state, 40)).toBe('file.bin   25%  25.0 MiB/100.0 MiB');
	expect(progressLine({...state, total: undefined, rate: undefined}, 80)).toBe('file.bin  25.0 MiB');
});

test('a long name loses its beginning, and wide characters are counted as such', () => {
	const state = {bytes: 0, total: 10, rate: undefined};
	expect(progressLine({...state, label: 'a'.repeat(30)}, 40)).toBe('…aaaaaaaaa  [        ]    0%  0 B/10 B');
	expect(progressLine({...state, label: '名前'.repeat(10)}, 40)).toBe('…名前名前  [         ]    0%  0 B/10 B');
});

test('no line is wider than the terminal', () => {
	const state = record({
		label: string(),
		bytes: nat(),
		total: option(nat(), {nil: undefined}),
		rate: option(float({min: 0, noNaN: true}), {nil: undefined}),
	});
	assert(
		property(state, nat(200), (given, width) => {
			expect(progressLine(given, width).length).toBeLessThanOrEqual(width);
		}),
	);
});

test('a rate follows a change without jumping to it', () => {
	const rate = new Rate();
	expect(rate.perSecond).toBeUndefined();
	let value = 0;
	for (let at = 0; at <= 10_000; at += 100) rate.add(at, (value += 100));
	expect(rate.perSecond).toBeCloseTo(1000, 3);
	rate.add(10_100, value + 1000);
	expect(rate.perSecond).toBeGreaterThan(1000);
	expect(rate.perSecond).toBeLessThan(2000);
});

test('the line is drawn ten times a second, makes way for messages, follows the width and is gone at the end', () => {
	const screen = {columns: 40, written: '', write: (text: string) => void (screen.written += text)};
	const clock = {at: 0, interval: 0, tick: () => {}, isStopped: false};
	const line = new ProgressLine(screen, () => ({label: 'a', bytes: 5, total: 10, moved: 5}), {
		now: () => clock.at,
		every: (ms, tick) => {
			clock.interval = ms;
			clock.tick = tick;
			return () => void (clock.isStopped = true);
		},
	});
	const taken = () => [screen.written, (screen.written = '')][0];
	expect([taken(), clock.interval]).toEqual(['', 100]);
	clock.tick();
	expect(taken()).toBe('\r\u001B[Ka  [########        ]   50%  5 B/10 B');
	screen.columns = 16;
	clock.tick();
	expect(taken()).toBe('\r\u001B[Ka   50%');
	line.writeAbove('note\n');
	expect(taken()).toBe('\r\u001B[Knote\n');
	line.end();
	expect([taken(), clock.isStopped]).toEqual(['', true]);
});

test('a copy on a terminal shows its progress, and Ctrl-C ends it with a word on how to go on', async () => {
	const {at, url} = await working();
	const proxy = await cutProxy({target: url, afterBytes: 16 * MiB, effect: 'stall', direction: 'up'});
	const command = await TerminalCommand.start(['cp', at('a'), `${proxy.url}:${at('to')}`], {rows: 10, cols: 70});
	await proxy.reached;
	await command.until(/Ka .*%.*MiB\/24\.0 MiB/);
	await command.type('\u0003');
	expect(await command.ended).toBe(130);
	expect(command.output.split('\r\u001B[K').at(-1)).toBe(
		'interrupted: the same command goes on where this one stopped\r\n',
	);
	for (const line of command.output.split('\r\u001B[K')) expect(line.replace(/\r\n$/, '').length).toBeLessThan(70);
});

test('a copy ends with a line on a terminal, and says nothing in a pipe', async () => {
	const {at, url} = await working();
	const {output, code} = await onTerminal(['cp', '--no-progress', at('a'), `${url}:${at('to')}`]);
	expect([code, output]).toEqual([
		0,
		expect.stringMatching(/^copied 1 file, 24\.0 MiB in [\d.]+ s \([\d.]+ [KMG]iB\/s\)\r\n$/),
	]);
	expect(await onTerminal(['cp', '-q', at('a'), `${url}:${at('b')}`])).toEqual({output: '', code: 0});
	expect(await runCommand(['cp', at('a'), `${url}:${at('c')}`])).toMatchObject({code: 0, stdout: '', stderr: ''});
});

async function working() {
	const root = scratchDirectory();
	const at = (name: string) => join(root, name);
	mkdirSync(at('to'));
	writeFileSync(at('a'), randomBytes(24 * MiB));
	return {at, url: (await serving()).url};
}
