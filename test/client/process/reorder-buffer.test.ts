import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import type {NumberedEvent} from '../../../src/client/process/process-handle.js';
import {MAX_WAITING_BYTES, MAX_WAITING_EVENTS, ReorderBuffer} from '../../../src/client/process/reorder-buffer.js';
import {closed, exited, output} from '../../helpers/process-events.js';

function buffer(): {buffer: ReorderBuffer; seqs: () => number[]} {
	const published: NumberedEvent[] = [];
	return {buffer: new ReorderBuffer(event => published.push(event)), seqs: () => published.map(({seq}) => seq)};
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
