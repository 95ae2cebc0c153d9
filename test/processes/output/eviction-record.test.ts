import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {MAX_RECORDED_EVICTIONS} from '../../../src/processes/output/eviction-record.js';
import {OutputLog} from '../../../src/processes/output/output-log.js';

const RETAINED_CHUNKS = 10;
/** Sizes that tell one chunk from its neighbours. */
const sizeOf = (seq: number): number => (seq * 7) % 13;

/** A log of so many chunks of which the last few are retained, and what a reader after a cursor truly missed. */
function longLog(chunks: number): {log: OutputLog; lastEvicted: number; missed: (afterSeq: number) => number} {
	const log = new OutputLog({bytes: Number.MAX_SAFE_INTEGER, chunks: RETAINED_CHUNKS});
	const upTo = [0];
	for (let seq = 1; seq <= chunks; seq++) {
		log.append('stdout', new Uint8Array(sizeOf(seq)));
		upTo.push(upTo[seq - 1]! + sizeOf(seq));
	}
	const lastEvicted = chunks - RETAINED_CHUNKS;
	const missed = (afterSeq: number): number => upTo[lastEvicted]! - upTo[Math.min(afterSeq, lastEvicted)]!;
	return {log, lastEvicted, missed};
}

describe('missedBytes of a log that forgot the sizes of its oldest chunks', () => {
	const {log, lastEvicted, missed} = longLog(MAX_RECORDED_EVICTIONS * 2 + 12_345);
	const firstRemembered = lastEvicted - MAX_RECORDED_EVICTIONS + 1;

	test('is exact from the very start', () => {
		expect(log.read(0, 1).missedBytes).toBe(missed(0));
	});

	test('is exact for a cursor within the record', () => {
		fc.assert(
			fc.property(fc.integer({min: firstRemembered, max: lastEvicted + 100}), afterSeq => {
				expect(log.read(afterSeq, 1).missedBytes).toBe(missed(afterSeq));
			}),
			{examples: [[firstRemembered], [lastEvicted - 1], [lastEvicted], [lastEvicted + 1]]},
		);
	});

	test('is a lower bound, short by no more than what was forgotten, for a cursor before the record', () => {
		fc.assert(
			fc.property(fc.integer({min: 1, max: firstRemembered - 1}), afterSeq => {
				const {missedBytes} = log.read(afterSeq, 1);
				expect(missedBytes).toBeLessThanOrEqual(missed(afterSeq));
				expect(missedBytes).toBeGreaterThanOrEqual(missed(firstRemembered));
			}),
			{examples: [[1], [firstRemembered - 1]]},
		);
	});
});

test('missedBytes is exact everywhere while no size was forgotten', () => {
	const {log, lastEvicted, missed} = longLog(MAX_RECORDED_EVICTIONS + RETAINED_CHUNKS);
	expect(lastEvicted).toBe(MAX_RECORDED_EVICTIONS);
	fc.assert(
		fc.property(fc.integer({min: 0, max: lastEvicted + 20}), afterSeq => {
			expect(log.read(afterSeq, 1).missedBytes).toBe(missed(afterSeq));
		}),
		{examples: [[0], [1], [lastEvicted]]},
	);
});
