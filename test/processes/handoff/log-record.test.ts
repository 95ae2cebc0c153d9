import {describe, expect, test} from 'vitest';
import {loadLog, storeLog} from '../../../src/processes/handoff/log-record.js';
import {copyChunk, MAX_READ_BYTES, releaseChunk} from '../../../src/processes/output/chunk-pool.js';
import {OutputLog, type Retention} from '../../../src/processes/output/output-log.js';
import {RetentionBudget} from '../../../src/processes/output/retention-budget.js';
import {HandoffReader, HandoffWriter} from '../../../src/shared/node/handoff-file.js';

const PLENTY: Retention = {bytes: 1024 * 1024, chunks: 1000};
const RETENTION: Retention = {bytes: 64, chunks: 1000};

/** The log as another program would have it. */
function handedOver(log: OutputLog, retention: Retention = RETENTION): OutputLog {
	const writer = new HandoffWriter();
	const source = new HandoffReader(writer.writeFile(storeLog(log.handOver(), writer)));
	try {
		return new OutputLog(retention, {}, loadLog(source.state as ReturnType<typeof storeLog>, source));
	} finally {
		source.close();
	}
}

function filled(count: number): OutputLog {
	const log = new OutputLog(RETENTION);
	for (let index = 0; index < count; index++) {
		log.append(index % 3 === 0 ? 'stderr' : 'stdout', Buffer.from(`chunk ${index}\n`));
	}
	return log;
}

describe('a log that was handed over', () => {
	test('has the same pages, heads, totals and gaps', () => {
		const log = filled(100);
		const other = handedOver(log);
		for (const afterSeq of [0, 1, 50, 93, 96, 100]) expect(other.read(afterSeq)).toEqual(log.read(afterSeq));
		for (const stream of ['stdout', 'stderr', 'pty'] as const) expect(other.view(stream)).toEqual(log.view(stream));
		const {nextSeq, totalBytes, retainedBytes, firstOrdinal, endOrdinal} = log;
		expect(other).toMatchObject({nextSeq, totalBytes, retainedBytes, firstOrdinal, endOrdinal});
		expect(other.missedBytes(0, 40)).toBe(log.missedBytes(0, 40));
	});

	test('goes on with its numbers, and ends as it would have', () => {
		const log = filled(10);
		const other = handedOver(log);
		for (const each of [log, other]) {
			each.append('stdout', Buffer.from('more'));
			each.recordExit({exitCode: 3, reason: 'exit'});
		}
		const third = handedOver(other);
		third.recordClose();
		expect(third.exit).toEqual(log.exit);
		expect(third.closedSeq).toBe(13);
		expect(third.read(9).chunks).toEqual(other.read(9).chunks);
		expect(() => third.append('stdout', Buffer.from('x'))).toThrow('output after closed');
	});

	test('keeps what its reader has not acknowledged, and no more after that', () => {
		const log = new OutputLog(RETENTION);
		log.retainUntilAcknowledged();
		for (let index = 0; index < 50; index++) log.append('stdout', Buffer.alloc(10, 'x'));
		log.acknowledge(20);
		const other = handedOver(log);
		expect(other.unacknowledged).toEqual({bytes: 300, chunks: 30});
		expect(other.read(20).chunks).toHaveLength(30);
		other.acknowledge(50);
		expect(other.retainedBytes).toBeLessThanOrEqual(64);
		expect(handedOver(new OutputLog(RETENTION)).unacknowledged).toBeUndefined();
	});

	test('keeps what its driver had not delivered until the driver has read it, or is dismissed', () => {
		const log = new OutputLog(RETENTION);
		const cursor = log.drive(() => {});
		for (let index = 0; index < 20; index++) log.append('stdout', Buffer.alloc(10, 'x'));
		for (let index = 0; index < 5; index++) cursor.next();
		const [back, gone] = [handedOver(log), handedOver(log)];
		for (const other of [back, gone]) {
			expect(other.driverBacklogBytes).toBe(150);
			other.append('stdout', Buffer.alloc(10, 'y'));
			expect(other.read(5).missedBytes).toBe(0);
		}
		back.drive(() => {});
		back.append('stdout', Buffer.alloc(10, 'z'));
		expect(back.driverBacklogBytes).toBe(170);
		back.catchUp(10, 15);
		expect(back.read(10).missedBytes).toBe(0);
		expect(back.driverBacklogBytes).toBe(120);
		expect(handedOver(back).driverBacklogBytes).toBe(120);
		back.catchUp(10, 23);
		expect(back.driverBacklogBytes).toBe(10);
		expect(back.retainedBytes).toBeLessThanOrEqual(64);
		gone.dismissAbsentDriver();
		expect(gone.driverBacklogBytes).toBe(0);
		expect(gone.retainedBytes).toBeLessThanOrEqual(64);
	});

	test('counts against its budget', () => {
		const budget = new RetentionBudget(1024);
		const log = handedOver(filled(100), {...RETENTION, budget});
		expect(budget.totalBytes).toBe(log.retainedBytes);
		log.dispose();
		expect(budget.totalBytes).toBe(0);
	});

	test('has memory of its own for every chunk that is returned to the pool', () => {
		const log = new OutputLog(PLENTY);
		for (const length of [40_000, 25_536]) log.append('stdout', Buffer.alloc(length, 'z'));
		const [large, small] = handedOver(log, PLENTY).read(0).chunks;
		releaseChunk(large!.bytes);
		copyChunk(Buffer.alloc(MAX_READ_BYTES, 'other'), MAX_READ_BYTES);
		expect(Buffer.from(small!.bytes).equals(Buffer.alloc(25_536, 'z'))).toBe(true);
	});
});
