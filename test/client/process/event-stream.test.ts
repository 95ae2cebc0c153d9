import {expect, test} from 'vitest';
import {
	MAX_HISTORY_BYTES,
	MAX_HISTORY_EVENTS,
	MAX_LIVE_BYTES,
	MAX_LIVE_EVENTS,
	ProcessEventStream,
} from '../../../src/client/process/event-stream.js';
import type {StreamEvent} from '../../../src/client/process/process-handle.js';
import {closed, output} from '../../helpers/process-events.js';

async function all(events: AsyncIterable<StreamEvent>): Promise<(number | string)[]> {
	const seen: (number | string)[] = [];
	for await (const event of events) {
		if (event.kind === 'lagged') seen.push(`missed ${event.missed} after ${event.afterSeq}`);
		else if (event.kind === 'failed') seen.push(event.message);
		else seen.push('seq' in event ? event.seq : event.kind);
	}
	return seen;
}

/** Timers of the turn before have run then. */
function nextTurn(): Promise<void> {
	return new Promise(resolve => setTimeout(resolve, 1));
}

test('early and late subscribers see everything once, up to the last event', async () => {
	const stream = new ProcessEventStream();
	const early = all(stream.subscribe());
	stream.publish(output(1));
	const between = all(stream.subscribe());
	stream.publish(output(2));
	stream.publish(closed(3));
	stream.publish(output(4));
	expect([await early, await between, await all(stream.subscribe())]).toEqual([
		[1, 2, 3],
		[1, 2, 3],
		[1, 2, 3],
	]);
});

test('who comes too late for the beginning is told how much is missing', async () => {
	const stream = new ProcessEventStream();
	for (let seq = 1; seq <= MAX_HISTORY_EVENTS + 10; seq++) stream.publish(output(seq));
	stream.publish(closed(MAX_HISTORY_EVENTS + 11));
	await nextTurn();
	const seen = await all(stream.subscribe());
	expect(seen.slice(0, 2)).toEqual(['missed 11 after 0', 12]);
	expect(seen).toHaveLength(MAX_HISTORY_EVENTS + 1);
	const large = new ProcessEventStream();
	for (let seq = 1; seq <= 3; seq++) large.publish(output(seq, MAX_HISTORY_BYTES / 2));
	large.publish(closed(4));
	await nextTurn();
	expect(await all(large.subscribe())).toEqual(['missed 1 after 0', 2, 3, 4]);
});

test('who takes too slowly is told where the gap is, and goes on behind it', async () => {
	const stream = new ProcessEventStream();
	stream.publish(output(1));
	const events = stream.subscribe();
	for (let seq = 2; seq <= MAX_LIVE_EVENTS + 6; seq++) stream.publish(output(seq));
	stream.publish(closed(MAX_LIVE_EVENTS + 7));
	await nextTurn();
	const seen = await all(events);
	expect(seen.slice(0, 3)).toEqual([1, 'missed 6 after 1', 8]);
	expect(seen.at(-1)).toBe(MAX_LIVE_EVENTS + 7);
});

test('who takes too much at a time is told so by bytes as well', async () => {
	const stream = new ProcessEventStream();
	const events = stream.subscribe();
	for (let seq = 1; seq <= 5; seq++) stream.publish(output(seq, MAX_LIVE_BYTES / 4));
	await nextTurn();
	stream.publish(closed(6));
	expect(await all(events)).toEqual(['missed 1 after 0', 2, 3, 4, 5, 6]);
});

test('who never waits misses nothing, however much comes in one turn, at the beginning and later', async () => {
	const stream = new ProcessEventStream();
	const count = 3 * MAX_LIVE_EVENTS;
	const numbers = Array.from({length: 2 * count + 1}, (_, index) => index + 1);
	for (let seq = 1; seq <= count; seq++) stream.publish(output(seq));
	const reading = all(stream.subscribe());
	await nextTurn();
	for (let seq = count + 1; seq <= 2 * count; seq++) stream.publish(output(seq));
	stream.publish(closed(2 * count + 1));
	expect(await reading).toEqual(numbers);
});

test('a failure is the end for everybody, and breaking off ends a subscription', async () => {
	const stream = new ProcessEventStream();
	const waiting = all(stream.subscribe());
	const left = stream.subscribe();
	const pending = left.next();
	await left.return!();
	expect(await pending).toEqual({done: true, value: undefined});
	stream.publish({kind: 'failed', message: 'lost'});
	stream.publish(closed(1));
	expect([await waiting, await all(stream.subscribe())]).toEqual([['lost'], ['lost']]);
	expect(await left.next()).toEqual({done: true, value: undefined});
});
