import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {DriverCursor, LogEvent, LogGap, ObserverCursor} from '../../../src/processes/output/log-cursor.js';
import {OutputLog} from '../../../src/processes/output/output-log.js';

type Step =
	| {do: 'append'; size: number}
	| {do: 'exit' | 'close' | 'drive' | 'leave'}
	| {do: 'deliver'; count: number}
	| {do: 'observe'; afterSeq: number}
	| {do: 'take'; observer: number; count: number};

const step: fc.Arbitrary<Step> = fc.oneof(
	{weight: 8, arbitrary: fc.record({do: fc.constant('append'), size: fc.integer({min: 1, max: 9})})},
	{weight: 1, arbitrary: fc.record({do: fc.constantFrom('exit', 'close', 'drive', 'leave')})},
	{weight: 2, arbitrary: fc.record({do: fc.constant('deliver'), count: fc.nat(4)})},
	{weight: 2, arbitrary: fc.record({do: fc.constant('observe'), afterSeq: fc.nat(12)})},
	{weight: 4, arbitrary: fc.record({do: fc.constant('take'), observer: fc.nat(5), count: fc.nat(6)})},
);

/** An observer and all it was told. */
interface Observer {
	readonly afterSeq: number;
	readonly cursor: ObserverCursor;
	readonly seen: (LogEvent | LogGap)[];
	wakes: number;
}

/** A log beside a plain list of all its events. */
class Observed {
	readonly log = new OutputLog({bytes: 30, chunks: 6}, {driverMoved: () => this.moves++});
	readonly events: LogEvent[] = [];
	readonly observers: Observer[] = [];
	driver: DriverCursor | undefined;
	moves = 0;

	run(next: Step): void {
		switch (next.do) {
			case 'append': {
				if (this.log.closedSeq !== undefined) return;
				const bytes = new Uint8Array(next.size).fill(this.log.nextSeq);
				this.events.push({kind: 'output', seq: this.log.nextSeq, stream: 'stdout', bytes: bytes.slice()});
				this.log.append('stdout', bytes);
				return;
			}
			case 'exit':
				if (this.log.exit) return;
				this.events.push({kind: 'exited', seq: this.log.nextSeq, exitCode: 0, reason: 'exit'});
				this.log.recordExit({exitCode: 0, reason: 'exit'});
				return;
			case 'close':
				if (!this.log.exit || this.log.closedSeq !== undefined) return;
				this.events.push({kind: 'closed', seq: this.log.nextSeq});
				this.log.recordClose();
				return;
			case 'drive':
				this.driver = this.log.drive(() => {});
				return;
			case 'leave':
				this.driver?.close();
				this.driver = undefined;
				return;
			case 'deliver':
				for (let count = 0; count < next.count; count++) this.driver?.next();
				this.driver?.commit();
				return;
			case 'observe': {
				const observer: Observer = {
					afterSeq: Math.min(next.afterSeq, this.log.nextSeq - 1),
					cursor: this.log.observe(next.afterSeq, () => observer.wakes++),
					seen: [],
					wakes: 0,
				};
				this.observers.push(observer);
				return;
			}
			case 'take': {
				const observer = this.observers[next.observer];
				if (!observer) return;
				for (let count = 0; count < next.count; count++) take(observer);
			}
		}
	}
}

function take({cursor, seen}: Observer): boolean {
	const event = cursor.next();
	// The bytes are only borrowed.
	if (event) seen.push(event.kind === 'output' ? {...event, bytes: event.bytes.slice()} : event);
	return event !== undefined;
}

/** The events with the ranges of the gaps cut out, in the same order. */
function expectedOf({afterSeq, seen}: Observer, events: readonly LogEvent[]): (LogEvent | LogGap)[] {
	const gaps = seen.filter(event => event.kind === 'gap');
	const rest = events.filter(
		({seq}) => seq > afterSeq && !gaps.some(gap => gap.afterSeq < seq && seq <= gap.throughSeq),
	);
	const told = gaps.map(gap => {
		const missing = events.filter(({seq}) => gap.afterSeq < seq && seq <= gap.throughSeq);
		const missedBytes = missing.reduce((sum, event) => sum + (event.kind === 'output' ? event.bytes.length : 0), 0);
		// A gap stands for output and nothing else.
		const onlyOutput = missing.length > 0 && missing.every(({kind}) => kind === 'output');
		return {...gap, missedBytes: onlyOutput ? missedBytes : Number.NaN};
	});
	return [...rest, ...told].sort((a, b) => lastSeq(a) - lastSeq(b));
}

function lastSeq(event: LogEvent | LogGap): number {
	return event.kind === 'gap' ? event.throughSeq : event.seq;
}

describe('observers of a log', () => {
	test('get every event once and in order, or a gap that tells exactly what is missing, whatever others do', () => {
		fc.assert(
			fc.property(fc.array(step, {maxLength: 80}), steps => {
				const observed = new Observed();
				for (const next of steps) observed.run(next);
				for (const observer of observed.observers) {
					while (take(observer));
					expect(observer.cursor.isAtEnd).toBe(true);
					expect(observer.cursor.pendingBytes).toBe(0);
					expect(observer.seen).toEqual(expectedOf(observer, observed.events));
				}
			}),
			{numRuns: 1000},
		);
	});

	test('hold nothing back: without a driver no more is retained than without observers', () => {
		const [watched, alone] = [new OutputLog({bytes: 30, chunks: 6}), new OutputLog({bytes: 30, chunks: 6})];
		const cursors = [1, 2, 3].map(() => watched.observe(0, () => {}));
		for (const log of [watched, alone]) {
			for (let count = 0; count < 50; count++) log.append('stdout', new Uint8Array(7));
		}
		expect(watched.retainedBytes).toBe(alone.retainedBytes);
		expect(watched.driverBacklogBytes).toBe(0);
		expect(cursors.map(({pendingBytes}) => pendingBytes)).toEqual([350, 350, 350]);
	});

	test('are woken by every event until they are closed', () => {
		const log = new OutputLog({bytes: 30, chunks: 6});
		const wakes = [0, 0];
		const [first] = [log.observe(0, () => wakes[0]!++), log.observe(0, () => wakes[1]!++)];
		log.append('stdout', new Uint8Array(1));
		first.close();
		log.recordExit({exitCode: 0, reason: 'exit'});
		expect(wakes).toEqual([1, 2]);
	});

	test('see an exit between evicted output in its place', () => {
		const log = new OutputLog({bytes: 2, chunks: 10});
		const observer = log.observe(0, () => {});
		log.append('stdout', new Uint8Array(2));
		log.recordExit({exitCode: 3, reason: 'exit'});
		log.append('stdout', new Uint8Array(2));
		log.append('stderr', new Uint8Array(1));
		log.recordClose();
		const seen = Array.from({length: 6}, () => observer.next());
		expect(seen).toEqual([
			{kind: 'gap', afterSeq: 0, throughSeq: 1, missedBytes: 2},
			{kind: 'exited', seq: 2, exitCode: 3, reason: 'exit'},
			{kind: 'gap', afterSeq: 2, throughSeq: 3, missedBytes: 2},
			{kind: 'output', seq: 4, stream: 'stderr', bytes: new Uint8Array(1)},
			{kind: 'closed', seq: 5},
			undefined,
		]);
	});
});

test('an observer gets no gap without missing output behind an exit that followed the last evicted chunk', () => {
	const log = new OutputLog({bytes: 2, chunks: 10});
	const observer = log.observe(0, () => {});
	log.append('stdout', new Uint8Array(2));
	log.recordExit({exitCode: 0, reason: 'exit'});
	log.append('stdout', new Uint8Array(2));
	const seen = Array.from({length: 4}, () => observer.next()?.kind);
	expect(seen).toEqual(['gap', 'exited', 'output', undefined]);
});

describe('the driver of a log', () => {
	test('loses nothing while observers come, lag and go', () => {
		const log = new OutputLog({bytes: 2, chunks: 2});
		const driver = log.drive(() => {});
		const observer = log.observe(0, () => {});
		for (let count = 0; count < 20; count++) log.append('stdout', new Uint8Array(3));
		observer.close();
		expect(log.driverBacklogBytes).toBe(60);
		for (let seq = 1; seq <= 20; seq++) expect(driver.next()).toMatchObject({kind: 'output', seq});
		driver.commit();
		expect(log.driverBacklogBytes).toBe(0);
	});

	test('gives way to the next one, and closing it later changes nothing for that', () => {
		const log = new OutputLog({bytes: 2, chunks: 2});
		const woken: string[] = [];
		const first = log.drive(() => woken.push('first'));
		const second = log.drive(() => woken.push('second'));
		first.close();
		log.append('stdout', new Uint8Array(3));
		expect(woken).toEqual(['second']);
		expect(second.pendingBytes).toBe(3);
		expect(log.driverBacklogBytes).toBe(3);
	});

	test('tells the owner of the log whenever it came, moved or went', () => {
		let moves = 0;
		const log = new OutputLog({bytes: 2, chunks: 2}, {driverMoved: () => moves++});
		const driver = log.drive(() => {});
		expect(moves).toBe(1);
		driver.commit();
		expect(moves).toBe(2);
		driver.close();
		expect(moves).toBe(3);
	});
});
