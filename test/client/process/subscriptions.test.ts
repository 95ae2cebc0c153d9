import {expect, test} from 'vitest';
import {
	PAUSE_SOURCE_ABOVE_BYTES,
	PAUSE_SOURCE_ABOVE_EVENTS,
	ProcessEventStream,
	RESUME_SOURCE_BELOW_EVENTS,
} from '../../../src/client/process/event-stream.js';
import type {ProcessEvent} from '../../../src/client/process/process-handle.js';
import {output} from '../../helpers/process-events.js';

function held() {
	const calls: string[] = [];
	const log = new ProcessEventStream({pause: () => calls.push('pause'), resume: () => calls.push('resume')});
	return {calls, log};
}

test('many bytes hold the source back once, and taking most of them lets it go on once', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	for (let seq = 1; seq <= 5; seq++) log.publish(output(seq, PAUSE_SOURCE_ABOVE_BYTES / 4));
	expect(calls).toEqual(['pause']);
	for (let seq = 1; seq <= 3; seq++) await reader.next();
	expect(calls).toEqual(['pause']);
	await reader.next();
	expect(calls).toEqual(['pause', 'resume']);
});

test('a reader that falls behind again holds the source back again', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	for (let round = 1; round <= 3; round++) {
		log.publish(output(round, PAUSE_SOURCE_ABOVE_BYTES + 1));
		expect(calls).toHaveLength(2 * round - 1);
		await reader.next();
		expect(calls).toHaveLength(2 * round);
	}
	expect(calls).toEqual(['pause', 'resume', 'pause', 'resume', 'pause', 'resume']);
});

test('many small events do the same', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	for (let seq = 1; seq <= PAUSE_SOURCE_ABOVE_EVENTS + 1; seq++) log.publish(output(seq));
	expect(calls).toEqual(['pause']);
	for (let seq = PAUSE_SOURCE_ABOVE_EVENTS; seq >= RESUME_SOURCE_BELOW_EVENTS; seq--) await reader.next();
	expect(calls).toEqual(['pause', 'resume']);
});

test('the first reader gets everything from the beginning, and those who come later what they always do', async () => {
	const {log} = held();
	for (let seq = 1; seq <= 300; seq++) log.publish(output(seq));
	log.publish({kind: 'closed', seq: 301});
	const first: ProcessEvent['kind'][] = [];
	for await (const {kind} of log.subscribe()) first.push(kind as ProcessEvent['kind']);
	expect([first.length, first.at(-1)]).toEqual([301, 'closed']);
	await new Promise(resolve => setTimeout(resolve, 1));
	expect((await log.subscribe().next()).value).toMatchObject({kind: 'lagged'});
});

test.each(['closed', 'failed'] as const)('nothing is held back behind the last event, %s', kind => {
	const {calls, log} = held();
	log.publish(output(1, PAUSE_SOURCE_ABOVE_BYTES + 1));
	log.publish(kind === 'closed' ? {kind, seq: 2} : {kind, message: 'gone'});
	expect(calls).toEqual(['pause', 'resume']);
});

test('a reader that goes lets the source go on, and is told nothing more', async () => {
	const {calls, log} = held();
	const reader = log.subscribe();
	log.publish(output(1, PAUSE_SOURCE_ABOVE_BYTES + 1));
	await reader.return?.();
	log.publish(output(2, PAUSE_SOURCE_ABOVE_BYTES + 1));
	expect([calls, await reader.next()]).toEqual([['pause', 'resume'], {done: true, value: undefined}]);
});
