import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {DriverCursor, LogEvent} from '../../../src/processes/output/log-cursor.js';
import {type Chunk, OutputLog, type OutputPage, type OutputStream} from '../../../src/processes/output/output-log.js';

const STREAMS = ['stdout', 'stderr', 'pty'] as const;

type Step =
	| {do: 'append'; stream: OutputStream; size: number}
	| {do: 'flood'; count: number}
	| {do: 'exit'; exitCode: number}
	| {do: 'close'}
	| {do: 'read'; afterSeq: number; maxBytes: number | undefined}
	| {do: 'attach'}
	| {do: 'next'; count: number}
	| {do: 'detach'};

const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			do: fc.constant('append'),
			stream: fc.constantFrom(...STREAMS),
			size: fc.oneof(fc.nat(3), fc.nat(20)),
		}),
	},
	{weight: 1, arbitrary: fc.record({do: fc.constant('flood'), count: fc.nat(1200)})},
	{weight: 1, arbitrary: fc.record({do: fc.constant('exit'), exitCode: fc.nat(255)})},
	{weight: 1, arbitrary: fc.record({do: fc.constant('close')})},
	{
		weight: 4,
		arbitrary: fc.record({
			do: fc.constant('read'),
			afterSeq: fc.nat(40),
			maxBytes: fc.option(fc.oneof(fc.nat(6), fc.nat(60)), {nil: undefined}),
		}),
	},
	{weight: 2, arbitrary: fc.record({do: fc.constant('attach')})},
	{weight: 4, arbitrary: fc.record({do: fc.constant('next'), count: fc.nat(8)})},
	{weight: 1, arbitrary: fc.record({do: fc.constant('detach')})},
);

/** The same by brute force: everything is kept, and what would be gone is only marked. */
class Model {
	readonly events: LogEvent[] = [];
	/** Chunks up to this number are evicted. */
	evictedUpTo = 0;
	/** The last event that was delivered; undefined while nobody takes delivery. */
	delivered: number | undefined;

	constructor(readonly retention: {bytes: number; chunks: number}) {}

	get nextSeq(): number {
		return this.events.length + 1;
	}

	get exited(): boolean {
		return this.events.some(({kind}) => kind === 'exited');
	}

	get closed(): boolean {
		return this.events.some(({kind}) => kind === 'closed');
	}

	chunks(from: number, to = Number.POSITIVE_INFINITY): Chunk[] {
		const chosen = this.events.filter(event => event.kind === 'output' && event.seq > from && event.seq <= to);
		return chosen.map(event => {
			const {seq, stream, bytes} = event as Chunk;
			return {seq, stream, bytes};
		});
	}

	/** The oldest go while there are too many, but none that is yet to be delivered. */
	settle(): void {
		const kept = this.chunks(this.evictedUpTo);
		let bytes = sizeOf(kept);
		for (let count = kept.length; bytes > this.retention.bytes || count > this.retention.chunks; count--) {
			const oldest = kept.shift()!;
			if (this.delivered !== undefined && oldest.seq > this.delivered) return;
			bytes -= oldest.bytes.length;
			this.evictedUpTo = oldest.seq;
		}
	}

	read(afterSeq: number, maxBytes: number | undefined): OutputPage {
		const available = this.chunks(Math.max(afterSeq, this.evictedUpTo));
		const missedBytes = sizeOf(this.chunks(afterSeq, this.evictedUpTo));
		if (maxBytes === undefined) return {chunks: available, nextSeq: this.nextSeq, missedBytes};
		// The longest beginning that fits; a chunk beyond a beginning that is full already is not taken, even if empty.
		let count = Math.min(1, available.length);
		while (count < available.length) {
			const full = sizeOf(available.slice(0, count)) >= maxBytes;
			if (full || sizeOf(available.slice(0, count + 1)) > maxBytes) break;
			count++;
		}
		const chunks = available.slice(0, count);
		return {chunks, nextSeq: (chunks.at(-1)?.seq ?? this.nextSeq - 1) + 1, missedBytes};
	}
}

function sizeOf(chunks: readonly Chunk[]): number {
	return chunks.reduce((sum, {bytes}) => sum + bytes.length, 0);
}

/** The log and the model side by side; every step is done to both and their answers are compared. */
class Pair {
	readonly log: OutputLog;
	readonly model: Model;
	readonly released: Uint8Array[] = [];
	#cursor: DriverCursor | undefined;

	constructor(retention: {bytes: number; chunks: number}) {
		this.log = new OutputLog(retention, {release: bytes => this.released.push(bytes)});
		this.model = new Model(retention);
	}

	/** The results of log and model. */
	run(next: Step): {said: unknown; expected: unknown} {
		const answers = this.#run(next) ?? [];
		const {log, model} = this;
		model.settle();
		return {
			said: {
				answers: answers.map(([said]) => said),
				retained: log.read(0),
				nextSeq: log.nextSeq,
				retainedBytes: log.retainedBytes,
				totalBytes: log.totalBytes,
				pendingBytes: this.#cursor?.pendingBytes,
				atEnd: this.#cursor?.isAtEnd,
			},
			expected: {
				answers: answers.map(([, expected]) => expected),
				retained: model.read(0, undefined),
				nextSeq: model.nextSeq,
				retainedBytes: sizeOf(model.chunks(model.evictedUpTo)),
				totalBytes: sizeOf(model.chunks(0)),
				pendingBytes: this.#cursor && sizeOf(model.chunks(model.delivered!)),
				atEnd: this.#cursor && model.delivered === model.events.length,
			},
		};
	}

	/** Pairs of what was said and what was to be expected. */
	#run(next: Step): [unknown, unknown][] | undefined {
		const {log, model} = this;
		const seq = model.nextSeq;
		switch (next.do) {
			case 'append':
				if (!model.closed) this.#append(next.stream, next.size);
				return undefined;
			case 'flood':
				for (let index = 0; index < next.count && !model.closed; index++) this.#append('stdout', 1);
				return undefined;
			case 'exit':
				if (model.exited) return undefined;
				log.recordExit({exitCode: next.exitCode, reason: 'exit'});
				model.events.push({kind: 'exited', seq, exitCode: next.exitCode, reason: 'exit'});
				return undefined;
			case 'close':
				if (!model.exited || model.closed) return undefined;
				log.recordClose();
				model.events.push({kind: 'closed', seq});
				return undefined;
			case 'read':
				// Counted from the end, so that reads meet the retained part of long logs too.
				return [next.afterSeq, Math.max(0, seq - next.afterSeq)].map(afterSeq => [
					log.read(afterSeq, next.maxBytes),
					model.read(afterSeq, next.maxBytes),
				]);
			case 'attach':
				this.#cursor = log.drive(() => {});
				model.delivered = seq - 1;
				return undefined;
			case 'next':
				return this.#deliver(next.count);
			case 'detach':
				this.#cursor?.close();
				this.#cursor = undefined;
				model.delivered = undefined;
				return undefined;
		}
	}

	#deliver(count: number): [unknown, unknown][] {
		const answers: [unknown, unknown][] = [];
		while (this.#cursor && answers.length < count) {
			const expected = this.model.events[this.model.delivered!];
			answers.push([this.#cursor.next(), expected]);
			if (expected) this.model.delivered!++;
		}
		this.#cursor?.commit();
		return answers;
	}

	#append(stream: OutputStream, size: number): void {
		const seq = this.model.nextSeq;
		const bytes = new Uint8Array(size).fill(seq);
		this.log.append(stream, bytes);
		this.model.events.push({kind: 'output', seq, stream, bytes});
	}
}

describe('numbering, retention, pages, delivery and release of memory', () => {
	test('are those of a log that keeps everything, whatever happens in whatever order', () => {
		const retention = fc.record({bytes: fc.nat(80), chunks: fc.integer({min: 1, max: 12})});
		fc.assert(
			fc.property(retention, fc.array(step, {maxLength: 60}), (bounds, steps) => {
				const pair = new Pair(bounds);
				for (const next of steps) {
					const {said, expected} = pair.run(next);
					expect(said).toEqual(expected);
				}
				const evicted = pair.model.chunks(0, pair.model.evictedUpTo);
				expect(pair.released.length).toBe(evicted.length);
				expect(evicted.every(({bytes}, index) => pair.released[index] === bytes)).toBe(true);
			}),
			{numRuns: 250},
		);
	});

	test('a page that is full takes not even an empty chunk', () => {
		const log = new OutputLog({bytes: 100, chunks: 100});
		for (const size of [2, 3, 0, 1]) log.append('stdout', new Uint8Array(size));
		const sizes = (maxBytes: number): number[] => log.read(0, maxBytes).chunks.map(({bytes}) => bytes.length);
		expect([0, 2, 4, 5, 6].map(sizes)).toEqual([[2], [2], [2], [2, 3], [2, 3, 0, 1]]);
	});

	test('an event that cannot follow is a mistake of the caller', () => {
		const log = new OutputLog({bytes: 10, chunks: 10});
		expect(() => log.recordClose()).toThrow('closed before exited');
		log.recordExit({exitCode: 0, reason: 'exit'});
		expect(() => log.recordExit({exitCode: 0, reason: 'exit'})).toThrow('exited twice');
		log.append('stdout', new Uint8Array(1));
		log.recordClose();
		expect(() => log.recordClose()).toThrow('twice');
		expect(() => log.append('stdout', new Uint8Array(1))).toThrow('output after closed');
		expect({exit: log.exit, closedSeq: log.closedSeq, nextSeq: log.nextSeq}).toEqual({
			exit: {seq: 1, exitCode: 0, reason: 'exit'},
			closedSeq: 3,
			nextSeq: 4,
		});
	});
});

describe('watching', () => {
	test('every event wakes every watcher, until it stops watching', () => {
		const log = new OutputLog({bytes: 10, chunks: 10});
		const woken: string[] = [];
		const stopFirst = log.watch(() => woken.push(`first ${log.nextSeq}`));
		log.watch(() => woken.push(`second ${log.nextSeq}`));
		log.append('stdout', new Uint8Array(1));
		log.recordExit({exitCode: 0, reason: 'exit'});
		stopFirst();
		log.recordClose();
		expect(woken).toEqual(['first 2', 'second 2', 'first 3', 'second 3', 'second 4']);
	});

	test('a watcher that stops itself does not keep the others from being woken', () => {
		const log = new OutputLog({bytes: 10, chunks: 10});
		const woken: string[] = [];
		const stop = log.watch(() => {
			woken.push('once');
			stop();
		});
		log.watch(() => woken.push('always'));
		log.append('stdout', new Uint8Array(1));
		log.append('stdout', new Uint8Array(1));
		expect(woken).toEqual(['once', 'always', 'always']);
	});
});
