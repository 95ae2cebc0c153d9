import {expect, test} from 'vitest';
import {EventLog} from '../../../src/client/process/event-log.js';
import {HOLD_ABOVE_BYTES, HOLD_ABOVE_EVENTS, RELEASE_BELOW_EVENTS} from '../../../src/client/process/held-events.js';
import type {ProcessEvent} from '../../../src/client/process/process-handle.js';

const output = (seq: number, size = 1): ProcessEvent => ({
	kind: 'output',
	seq,
	stream: 'stdout',
	bytes: new Uint8Array(size),
});

function held() {
	const calls: string[] = [];
	const log = new EventLog({hold: () => calls.push('hold'), release: () => calls.push('release')});
	return {calls, log};
}

test('many bytes hold the source back once, and taking most of them lets it go on once', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	for (let seq = 1; seq <= 5; seq++) log.publish(output(seq, HOLD_ABOVE_BYTES / 4));
	expect(calls).toEqual(['hold']);
	for (let seq = 1; seq <= 3; seq++) await reader.next();
	expect(calls).toEqual(['hold']);
	await reader.next();
	expect(calls).toEqual(['hold', 'release']);
});

test('a reader that falls behind again holds the source back again', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	for (let round = 1; round <= 3; round++) {
		log.publish(output(round, HOLD_ABOVE_BYTES + 1));
		expect(calls).toHaveLength(2 * round - 1);
		await reader.next();
		expect(calls).toHaveLength(2 * round);
	}
	expect(calls).toEqual(['hold', 'release', 'hold', 'release', 'hold', 'release']);
});

test('many small events do the same', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	for (let seq = 1; seq <= HOLD_ABOVE_EVENTS + 1; seq++) log.publish(output(seq));
	expect(calls).toEqual(['hold']);
	for (let seq = HOLD_ABOVE_EVENTS; seq >= RELEASE_BELOW_EVENTS; seq--) await reader.next();
	expect(calls).toEqual(['hold', 'release']);
});

test('the first reader gets everything from the beginning, and those who come later what they always do', async () => {
	const {log} = held();
	for (let seq = 1; seq <= 300; seq++) log.publish(output(seq));
	log.publish({kind: 'closed', seq: 301});
	const first: ProcessEvent['kind'][] = [];
	for await (const {kind} of log.subscribe()) first.push(kind as ProcessEvent['kind']);
	expect([first.length, first.at(-1)]).toEqual([301, 'closed']);
	expect((await log.subscribe().next()).value).toMatchObject({kind: 'lagged'});
});

test.each(['closed', 'failed'] as const)('nothing is held back behind the last event, %s', kind => {
	const {calls, log} = held();
	log.publish(output(1, HOLD_ABOVE_BYTES + 1));
	log.publish(kind === 'closed' ? {kind, seq: 2} : {kind, message: 'gone'});
	expect(calls).toEqual(['hold', 'release']);
});

test('a reader that goes lets the source go on, and is told nothing more', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	log.publish(output(1, HOLD_ABOVE_BYTES + 1));
	await reader.return?.();
	log.publish(output(2, HOLD_ABOVE_BYTES + 1));
	expect([calls, await reader.next()]).toEqual([['hold', 'release'], {done: true, value: undefined}]);
});
