import {expect, test} from 'vitest';
import {
	EventLog,
	HISTORY_BYTES,
	HISTORY_EVENTS,
	LIVE_EVENTS,
	type StreamEvent,
} from '../../../src/client/process/event-log.js';
import type {ProcessEvent} from '../../../src/client/process/process-handle.js';

const output = (seq: number, size = 1): ProcessEvent => ({
	kind: 'output',
	seq,
	stream: 'stdout',
	bytes: new Uint8Array(size),
});
const closed = (seq: number): ProcessEvent => ({kind: 'closed', seq});

async function all(events: AsyncIterable<StreamEvent>): Promise<(number | string)[]> {
	const seen: (number | string)[] = [];
	for await (const event of events) {
		if (event.kind === 'lagged') seen.push(`missed ${event.missed} after ${event.afterSeq}`);
		else if (event.kind === 'failed') seen.push(event.message);
		else seen.push('seq' in event ? event.seq : event.kind);
	}
	return seen;
}

test('early and late subscribers see everything once, up to the last event', async () => {
	const log = new EventLog();
	const early = all(log.subscribe());
	log.publish(output(1));
	const between = all(log.subscribe());
	log.publish(output(2));
	log.publish(closed(3));
	log.publish(output(4));
	expect([await early, await between, await all(log.subscribe())]).toEqual([
		[1, 2, 3],
		[1, 2, 3],
		[1, 2, 3],
	]);
});

test('who comes too late for the beginning is told how much is missing', async () => {
	const log = new EventLog();
	for (let seq = 1; seq <= HISTORY_EVENTS + 10; seq++) log.publish(output(seq));
	log.publish(closed(HISTORY_EVENTS + 11));
	const seen = await all(log.subscribe());
	expect(seen.slice(0, 2)).toEqual(['missed 11 after 0', 12]);
	expect(seen).toHaveLength(HISTORY_EVENTS + 1);
	const large = new EventLog();
	for (let seq = 1; seq <= 3; seq++) large.publish(output(seq, HISTORY_BYTES / 2));
	large.publish(closed(4));
	expect(await all(large.subscribe())).toEqual(['missed 1 after 0', 2, 3, 4]);
});

test('who takes too slowly is told where the gap is, and goes on behind it', async () => {
	const log = new EventLog();
	log.publish(output(1));
	const events = log.subscribe();
	for (let seq = 2; seq <= LIVE_EVENTS + 6; seq++) log.publish(output(seq));
	log.publish(closed(LIVE_EVENTS + 7));
	const seen = await all(events);
	expect(seen.slice(0, 3)).toEqual([1, 'missed 6 after 1', 8]);
	expect(seen.at(-1)).toBe(LIVE_EVENTS + 7);
});

test('a failure is the end for everybody, and breaking off ends a subscription', async () => {
	const log = new EventLog();
	const waiting = all(log.subscribe());
	const left = log.subscribe();
	const pending = left.next();
	await left.return!();
	expect(await pending).toEqual({done: true, value: undefined});
	log.publish({kind: 'failed', message: 'lost'});
	log.publish(closed(1));
	expect([await waiting, await all(log.subscribe())]).toEqual([['lost'], ['lost']]);
	expect(await left.next()).toEqual({done: true, value: undefined});
});
