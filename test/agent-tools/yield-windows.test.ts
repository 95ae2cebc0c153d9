import {expect, test} from 'vitest';
import {clampPollWindow, clampStartWindow, clampWriteWindow} from '../../src/agent-tools/exec-limits.js';

test('a start waits between a quarter of a second and half a minute', () => {
	expect([0, 250, 10_000, 100_000].map(ms => clampStartWindow(ms, false))).toEqual([250, 250, 10_000, 30_000]);
});

test('a start on Windows waits ten seconds at least', () => {
	expect([0, 20_000].map(ms => clampStartWindow(ms, true))).toEqual([10_000, 20_000]);
});

test('a write waits as long as a start may', () => {
	expect([1, 300, 50_000].map(ms => clampWriteWindow(ms))).toEqual([250, 300, 30_000]);
});

test('a poll waits between five seconds and five minutes, or what it is limited to', () => {
	expect([1, 6000, 10 ** 9].map(ms => clampPollWindow(ms))).toEqual([5000, 6000, 300_000]);
	expect([clampPollWindow(60_000, 20_000), clampPollWindow(60_000, 1)]).toEqual([20_000, 5000]);
});
