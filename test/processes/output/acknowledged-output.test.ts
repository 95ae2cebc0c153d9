// covers: src/processes/output/output-log.ts, src/processes/managed-process.ts
import {expect, test} from 'vitest';
import {OutputLog} from '../../../src/processes/output/output-log.js';

const bytes = (size: number): Uint8Array => new Uint8Array(size);

test('output stays until it is acknowledged, with a driver and without one', () => {
	const log = new OutputLog({bytes: 10, chunks: 100});
	log.retainUntilAcknowledged();
	const driver = log.drive(() => {});
	for (let count = 0; count < 5; count++) log.append('stdout', bytes(4));
	while (driver.next());
	driver.commit();
	driver.close();
	expect([log.retainedBytes, log.unacknowledged]).toEqual([20, {bytes: 20, chunks: 5}]);
	log.acknowledge(3);
	expect([log.retainedBytes, log.unacknowledged, log.read(0).missedBytes]).toEqual([8, {bytes: 8, chunks: 2}, 12]);
	log.acknowledge(1);
	expect(log.unacknowledged).toEqual({bytes: 8, chunks: 2});
});

test('no budget takes output away that is not acknowledged', () => {
	const log = new OutputLog({bytes: 10, chunks: 100});
	log.retainUntilAcknowledged();
	log.append('stdout', bytes(30));
	expect([log.evict(30), log.retainedBytes]).toEqual([0, 30]);
});

test('exit and close are acknowledged like output, and a number beyond them all ends the retention', () => {
	const log = new OutputLog({bytes: 10, chunks: 100});
	log.retainUntilAcknowledged();
	log.append('stdout', bytes(30));
	log.recordExit({exitCode: 0, reason: 'exit'});
	log.recordClose();
	log.acknowledge(2);
	expect(log.isAwaitingAcknowledgement).toBe(true);
	log.acknowledge(3);
	expect([log.isAwaitingAcknowledgement, log.retainedBytes]).toEqual([false, 0]);
	const other = new OutputLog({bytes: 10, chunks: 100});
	other.retainUntilAcknowledged();
	other.append('stdout', bytes(30));
	other.acknowledge(2);
	expect([other.unacknowledged, other.retainedBytes]).toEqual([undefined, 0]);
});
