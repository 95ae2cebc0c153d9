import {expect, test} from 'vitest';
import type {RecordedEntry} from '../../../src/client/recording/recording.js';
import {MAX_MADE_UP_MS, type ReplayClock, type ReplayOptions, replay} from '../../../src/client/recording/replay.js';
import {Deferred} from '../../../src/shared/async/deferred.js';

/** A clock that only sleeping moves. */
class FakeClock implements ReplayClock {
	ms = 5000;

	now(): number {
		return this.ms;
	}

	async sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
		signal?.throwIfAborted();
		this.ms += ms;
	}
}

function entriesAt(...times: number[]): RecordedEntry[] {
	return times.map(ms => ({kind: 'output', ms, bytes: Buffer.from(String(ms))}));
}

/** Times at which the entries were written, from the start of the replay. */
async function timesOf(
	entries: RecordedEntry[],
	options: Partial<ReplayOptions> = {},
	slowness = 0,
): Promise<number[]> {
	const clock = new FakeClock();
	const times: number[] = [];
	const write = () => {
		times.push(clock.ms - 5000);
		clock.ms += slowness;
	};
	await replay(entries, {write, clock, ...options});
	return times;
}

test('output comes at the times of the recording, counted from its first entry', async () => {
	expect(await timesOf(entriesAt(700, 800, 800, 3800))).toEqual([0, 100, 100, 3100]);
});

test('the pace is multiplied, and idle times are cut before', async () => {
	expect(await timesOf(entriesAt(0, 100, 10_100), {speed: 2})).toEqual([0, 50, 5050]);
	expect(await timesOf(entriesAt(0, 100, 10_100), {speed: 4, idleLimitMs: 2000})).toEqual([0, 25, 525]);
	expect(await timesOf(entriesAt(0, 100, 10_100), {idleLimitMs: 0})).toEqual([0, 0, 0]);
});

test('the time that writing takes is made up for', async () => {
	expect(await timesOf(entriesAt(0, 100, 200, 300), {}, 60)).toEqual([0, 100, 200, 300]);
	expect(await timesOf(entriesAt(0, 10, 20, 500), {}, 100)).toEqual([0, 100, 200, 500]);
});

test('behind a long stop the rest is not rushed through', async () => {
	const clock = new FakeClock();
	const times: number[] = [];
	const write = () => {
		times.push(clock.ms - 5000);
		if (times.length === 1) clock.ms += 60_000;
	};
	await replay(entriesAt(0, 1000, 2000, 3000, 4000), {write, clock});
	expect(times).toEqual([0, 60_000, 60_000, 60_000 + MAX_MADE_UP_MS, 60_000 + 2 * MAX_MADE_UP_MS]);
});

test('a time that goes backwards counts as none', async () => {
	expect(await timesOf(entriesAt(500, 100, 600))).toEqual([0, 0, 100]);
});

test('other entries are told at their times', async () => {
	const told: unknown[] = [];
	const entries: RecordedEntry[] = [
		...entriesAt(0),
		{kind: 'resize', ms: 10, rows: 5, cols: 6},
		{kind: 'exit', ms: 20, exitCode: 1},
	];
	await timesOf(entries, {other: ({kind, ms}) => void told.push([kind, ms])});
	expect(told).toEqual([
		['resize', 10],
		['exit', 20],
	]);
});

test('a replay is stopped by its signal, between entries and while it waits', async () => {
	const controller = new AbortController();
	const written: string[] = [];
	const write = (bytes: Uint8Array) => {
		written.push(Buffer.from(bytes).toString());
		if (written.length === 2) controller.abort(new Error('enough'));
	};
	const {signal} = controller;
	await expect(replay(entriesAt(0, 0, 0, 0), {write, signal, clock: new FakeClock()})).rejects.toThrow('enough');
	expect(written).toHaveLength(2);

	const waiting = new AbortController();
	const isStarted = new Deferred();
	const long = replay(entriesAt(0, 1e9), {write: () => isStarted.resolve(), signal: waiting.signal});
	await isStarted.promise;
	waiting.abort(new Error('not that long'));
	await expect(long).rejects.toThrow('not that long');
});

test('the clock of the machine is used by default', async () => {
	const written: string[] = [];
	await replay(entriesAt(0, 1, 2), {write: bytes => void written.push(Buffer.from(bytes).toString())});
	expect(written).toEqual(['0', '1', '2']);
});

test('a speed has to be above zero', async () => {
	for (const speed of [0, -1, Number.NaN]) {
		await expect(replay([], {write: () => {}, speed})).rejects.toThrow('above zero');
	}
});
