import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import type {Gap, NumberedEvent} from '../../../src/client/process/process-handle.js';
import {MAX_WAITING_BYTES, MAX_WAITING_EVENTS, ReorderBuffer} from '../../../src/client/process/reorder-buffer.js';
import {closed, exited, output} from '../../helpers/process-events.js';

function buffer(): {buffer: ReorderBuffer; seqs: () => number[]} {
	const {events, published} = recorded();
	return {buffer: events, seqs: () => published.flatMap(event => (event.kind === 'gap' ? [] : [event.seq]))};
}

function recorded(): {events: ReorderBuffer; published: (NumberedEvent | Gap)[]} {
	const published: (NumberedEvent | Gap)[] = [];
	return {events: new ReorderBuffer(event => published.push(event)), published};
}

test('any order of arrival, with any repeats, is published as 1, 2, 3 up to the close', () => {
	const arrival = fc.integer({min: 2, max: 60}).chain(last =>
		fc.tuple(
			fc.constant(last),
			fc.shuffledSubarray(
				Array.from({length: last}, (_, index) => index + 1),
				{minLength: last},
			),
			fc.array(fc.integer({min: 1, max: last + 5}), {maxLength: 40}),
		),
	);
	fc.assert(
		fc.property(arrival, ([last, order, repeats]) => {
			const {buffer: events, seqs} = buffer();
			const eventOf = (seq: number) => (seq === last ? closed(seq) : seq === last - 1 ? exited(seq) : output(seq));
			// Those beyond the close come from nowhere and lead nowhere.
			for (const seq of order) events.add(eventOf(seq));
			for (const seq of repeats) events.add(output(seq));
			expect(seqs()).toEqual(Array.from({length: last}, (_, index) => index + 1));
			expect(events.isClosed).toBe(true);
		}),
	);
});

test('what fills the gap is taken however much waits behind it', () => {
	const {buffer: events, seqs} = buffer();
	for (let seq = 2; seq < 2 + MAX_WAITING_EVENTS; seq++) events.add(output(seq));
	expect(() => events.add(output(1000))).toThrow(`process event reorder buffer exceeds ${MAX_WAITING_EVENTS} entries`);
	events.add(output(1, MAX_WAITING_BYTES));
	expect(seqs()).toHaveLength(MAX_WAITING_EVENTS + 1);
});

test('bytes that wait are bounded, alone and together', () => {
	const {buffer: events} = buffer();
	events.add(output(2, MAX_WAITING_BYTES));
	expect(() => events.add(output(3))).toThrow(`process event reorder buffer exceeds ${MAX_WAITING_BYTES} bytes`);
	expect(() => events.add(output(1, MAX_WAITING_BYTES + 1))).toThrow(
		`process event exceeds ${MAX_WAITING_BYTES} bytes`,
	);
});

test('published events leave the buffer: order can be lost and found again for as long as a process lives', () => {
	const {buffer: events, seqs} = buffer();
	const bytes = MAX_WAITING_BYTES / 4;
	for (let seq = 1; seq <= 3 * MAX_WAITING_EVENTS; seq++) events.add(output(seq, bytes));
	// Were they still counted, neither their number nor their bytes would leave room for one that has to wait.
	const next = 3 * MAX_WAITING_EVENTS + 1;
	events.add(output(next + 1, MAX_WAITING_BYTES));
	events.add(output(next));
	expect(seqs()).toEqual(Array.from({length: next + 1}, (_, index) => index + 1));
});

test('skipping what is missing drops what waits before it, and publishes what waits right behind it', () => {
	const {buffer: events, seqs} = buffer();
	events.add(output(1));
	for (const seq of [3, 5, 8, 9, 11]) events.add(output(seq, MAX_WAITING_BYTES / 5));
	events.skipThrough(7);
	expect([seqs(), events.published]).toEqual([[1, 8, 9], 9]);
	expect([3, 5, 7, 10, 11].map(seq => events.has(seq))).toEqual([true, true, true, false, true]);
	// The bytes of those dropped are free again.
	events.add(output(12, (MAX_WAITING_BYTES / 5) * 4));
	events.add(output(10));
	expect(seqs()).toEqual([1, 8, 9, 10, 11, 12]);
	events.skipThrough(4);
	expect(events.published).toBe(12);
});

test('what was skipped makes room for as many that wait', () => {
	const {buffer: events, seqs} = buffer();
	const last = 2 + MAX_WAITING_EVENTS;
	for (let seq = 3; seq <= last; seq++) events.add(output(seq));
	events.skipThrough(last);
	for (let seq = last + 2; seq <= last + MAX_WAITING_EVENTS; seq++) events.add(output(seq));
	events.add(output(last + 1));
	expect(seqs()).toHaveLength(MAX_WAITING_EVENTS);
});

test('a close that was skipped to ends it', () => {
	const {buffer: events, seqs} = buffer();
	events.add(closed(4));
	events.skipThrough(3);
	events.add(output(5));
	expect([seqs(), events.isClosed]).toEqual([[4], true]);
});

const gap = (afterSeq: number, throughSeq: number, missedBytes?: number): Gap => {
	return {kind: 'gap', afterSeq, throughSeq, missedBytes};
};
const briefly = (events: readonly (NumberedEvent | Gap)[]) =>
	events.map(event => (event.kind === 'gap' ? `${event.afterSeq}..${event.throughSeq}` : event.seq));

test('a gap waits for the events before it, and the events behind it wait for the gap', () => {
	const {events, published} = recorded();
	for (const seq of [8, 9]) events.add(output(seq));
	events.addGap(gap(2, 7, 100));
	events.add(output(2));
	expect(published).toEqual([]);
	events.add(output(1));
	expect(briefly(published)).toEqual([1, 2, '2..7', 8, 9]);
	events.addGap(gap(2, 7, 100));
	expect(published).toHaveLength(5);
});

test('a gap that begins among published events is announced from behind them', () => {
	const {events, published} = recorded();
	for (const seq of [1, 2, 3]) events.add(output(seq));
	events.addGap(gap(1, 5, 100));
	events.add(output(6));
	expect(briefly(published)).toEqual([1, 2, 3, '3..5', 6]);
});

test('an expected gap is announced with the first event behind it, unless the server was first with its size', () => {
	const silent = recorded();
	silent.events.expectGapThrough(4);
	expect(silent.published).toEqual([]);
	silent.events.add(output(5));
	expect(silent.published).toEqual([gap(0, 4), output(5)]);
	const told = recorded();
	told.events.expectGapThrough(4);
	told.events.addGap(gap(0, 4, 100));
	told.events.add(output(5));
	expect(told.published).toEqual([gap(0, 4, 100), output(5)]);
});

test('gaps without the events before them are bounded', () => {
	const {events} = recorded();
	const fill = () => {
		for (let seq = 1; seq <= MAX_WAITING_EVENTS + 1; seq++) events.addGap(gap(10 * seq, 10 * seq + 1));
	};
	expect(fill).toThrow(`exceeds ${MAX_WAITING_EVENTS} gaps`);
});
