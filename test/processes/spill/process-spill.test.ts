// covers: src/processes/spill (writing and reading)
import {readdirSync, readFileSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import * as fc from 'fast-check';
import {describe, expect, onTestFinished, test} from 'vitest';
import {ProcessSpill} from '../../../src/processes/spill/process-spill.js';
import type {SpillCursor} from '../../../src/processes/spill/spill-reader.js';
import type {StoredSpill} from '../../../src/processes/spill/stored-spill.js';
import {countOpenDescriptors} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {
	bytesOf,
	createSpill,
	metaOf,
	type PlainChunk,
	readAll,
	readEntries,
	STARTED_AT_MS,
} from '../../helpers/spills.js';
import {waitTicks} from '../../helpers/ticks.js';

const KiB = 1024;
const STREAMS = ['stdout', 'stderr', 'pty'] as const;

type Step =
	| {do: 'append'; stream: (typeof STREAMS)[number]; size: number}
	| {do: 'resize' | 'input' | 'marker' | 'flush' | 'reopen' | 'later'}
	| {do: 'open'; afterSeq: number}
	| {do: 'read'; count: number}
	| {do: 'look'; byte: number; ms: number; lines: number};

const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 10,
		arbitrary: fc.record({
			do: fc.constant('append' as const),
			stream: fc.constantFrom(...STREAMS),
			size: fc.oneof(fc.nat(3), fc.nat(300), fc.constantFrom(16 * KiB, 64 * KiB, 200 * KiB)),
		}),
	},
	{
		weight: 5,
		arbitrary: fc.record({do: fc.constantFrom('resize', 'input', 'marker', 'flush', 'reopen', 'later')}),
	},
	{weight: 2, arbitrary: fc.record({do: fc.constant('open' as const), afterSeq: fc.nat(30)})},
	{weight: 3, arbitrary: fc.record({do: fc.constant('read' as const), count: fc.nat(10)})},
	{
		weight: 1,
		arbitrary: fc.record({do: fc.constant('look' as const), byte: fc.nat(2000), ms: fc.nat(30), lines: fc.nat(5)}),
	},
);

/** A spill beside a list of everything that was handed to it. */
class Pair {
	readonly #now = {ms: STARTED_AT_MS};
	readonly chunks: (PlainChunk & {readonly ms: number; readonly offset: number})[] = [];
	spill: ProcessSpill;
	#reader: SpillCursor | undefined;
	/** Number of the last chunk that needs no reading. */
	#readSeq = 0;
	readonly #maxBytes: number;

	constructor(directory: string, maxBytes: number) {
		this.#maxBytes = maxBytes;
		this.spill = ProcessSpill.create(directory, metaOf('process'), this.#options());
	}

	#options() {
		return {maxBytes: this.#maxBytes, onFull: 'dropOldest', clock: () => this.#now.ms} as const;
	}

	/** Chunks that must still be there. */
	kept(): PlainChunk[] {
		return this.chunks.filter(({seq}) => seq >= this.spill.firstSeq).map(plain);
	}

	bytesBetween(after: number, through: number): number {
		const between = this.chunks.filter(({seq}) => seq > after && seq <= through && seq < this.spill.firstSeq);
		return between.reduce((sum, {text}) => sum + text.length, 0);
	}

	run(next: Step): void {
		const {spill} = this;
		switch (next.do) {
			case 'append': {
				const seq = this.chunks.length + 1;
				const bytes = bytesOf(seq, next.size);
				const offset = this.chunks.reduce((sum, {text}) => sum + text.length, 0);
				spill.append({seq, stream: next.stream, bytes});
				this.chunks.push({seq, stream: next.stream, text: bytes.toString('latin1'), ms: this.#now.ms, offset});
				bytes.fill(0);
				return;
			}
			case 'resize':
				return spill.recordResize(24, 80);
			case 'input':
				return spill.recordInput(Buffer.from('typed'));
			case 'marker':
				return spill.recordMarker('here');
			case 'flush':
				return spill.flush();
			case 'later':
				this.#now.ms += 7;
				return;
			case 'reopen':
				this.#closeReader();
				spill.close();
				this.spill = ProcessSpill.reopen(spill.directory, this.#options());
				return;
			case 'open':
				this.#closeReader();
				this.#reader = spill.openReader(next.afterSeq);
				this.#readSeq = next.afterSeq;
				return;
			case 'read':
				return this.#read(next.count);
			case 'look':
				return this.#look(next);
		}
	}

	#read(count: number): void {
		for (let left = count; left > 0 && this.#reader; left--) {
			const seq = compareNext(this, this.#reader, this.#readSeq);
			if (seq === undefined) return;
			this.#readSeq = seq;
		}
	}

	#look({byte, ms, lines}: {byte: number; ms: number; lines: number}): void {
		compareReaders(this, this.spill, {byte, ms: STARTED_AT_MS + ms, lines});
	}

	#closeReader(): void {
		this.#reader?.close();
		this.#reader = undefined;
	}

	close(): void {
		this.#closeReader();
		this.spill.close();
	}
}

function plain({seq, stream, text}: PlainChunk): PlainChunk {
	return {seq, stream, text};
}

/** Reads a chunk and compares it with what was handed over; undefined at the end. */
function compareNext(pair: Pair, reader: SpillCursor, before: number): number | undefined {
	const chunk = reader.next();
	const end = chunk?.seq ?? Number.POSITIVE_INFINITY;
	expect(pair.kept().filter(({seq}) => seq > before && seq < end)).toEqual([]);
	if (!chunk) return undefined;
	expect(chunk.seq).toBeGreaterThan(before);
	const {bytes, ...rest} = chunk;
	expect({...rest, text: Buffer.from(bytes).toString('latin1')}).toEqual(pair.chunks[chunk.seq - 1]);
	return chunk.seq;
}

/** Reads from every kind of place, and compares with what was handed over. */
function compareReaders(pair: Pair, spill: StoredSpill, place: {byte: number; ms: number; lines: number}): void {
	spill.flush();
	const kept = pair.kept();
	expect(readAll(spill.openReader(0))).toEqual(kept);
	const whole = pair.chunks.map(({text}) => text).join('');
	const first = Math.max(place.byte, spill.totalDroppedBytes);
	const fromByte = spill.readFrom({byte: place.byte});
	expect(fromByte.missedBytes).toBe(Math.max(0, spill.totalDroppedBytes - place.byte));
	expect(joined(readAll(fromByte))).toBe(whole.slice(first));
	const since = pair.chunks.filter(({ms, seq}) => ms >= place.ms && seq >= spill.firstSeq).map(plain);
	expect(readAll(spill.readFrom({ms: place.ms}))).toEqual(since);
	const lines =
		kept
			.map(({text}) => text)
			.join('')
			.match(/[^\n]*\n|[^\n]+$/g) ?? [];
	const tail = place.lines === 0 ? [] : lines.slice(-place.lines);
	expect(joined(readAll(spill.readFrom({tail: place.lines})))).toBe(tail.join(''));
	for (const after of [0, 1, spill.firstSeq - 1, Math.floor(spill.firstSeq / 2)]) {
		for (const through of [spill.firstSeq, spill.firstSeq - 2, pair.chunks.length]) {
			expect(spill.droppedBytes(after, through)).toBe(pair.bytesBetween(after, through));
		}
	}
}

function joined(chunks: readonly PlainChunk[]): string {
	return chunks.map(({text}) => text).join('');
}

describe('whatever is appended, dropped, closed and opened again, readers find what is kept', () => {
	test.each([
		['without a bound', Number.POSITIVE_INFINITY],
		['with a bound of some chunks', 2000],
		['with a bound of many chunks', 300 * KiB],
	])('%s', (_, maxBytes) => {
		const parent = scratchDirectory();
		let count = 0;
		fc.assert(
			fc.property(fc.array(step, {maxLength: 120}), fc.nat(2000), fc.nat(30), (steps, byte, ms) => {
				const pair = new Pair(join(parent, String(count++)), maxBytes);
				try {
					for (const next of steps) pair.run(next);
					pair.spill.flush();
					expect([pair.spill.writtenSeq, pair.spill.isBlocked]).toEqual([pair.chunks.length, false]);
					compareReaders(pair, pair.spill, {byte, ms: STARTED_AT_MS + ms, lines: 3});
					const kept = pair.kept();
					const {firstSeq} = pair.spill;
					pair.close();
					const ended = ProcessSpill.openEnded(pair.spill.directory);
					expect([ended.firstSeq, ended.writtenSeq]).toEqual([firstSeq, pair.chunks.length]);
					expect(readAll(ended.openReader(0))).toEqual(kept);
					compareReaders(pair, ended, {byte, ms: STARTED_AT_MS + ms, lines: 3});
				} finally {
					pair.close();
				}
			}),
			{numRuns: 60},
		);
	});
});

const at = (milliseconds: number): {ms: number} => ({ms: STARTED_AT_MS + milliseconds});

test('a recording has sizes, input, markers, exit and close in order, with numbers and times', () => {
	let ms = STARTED_AT_MS;
	const spill = createSpill({clock: () => ms++});
	spill.recordResize(24, 80);
	spill.append({seq: 1, stream: 'pty', bytes: Buffer.from('$ ')});
	spill.recordInput(Buffer.from('ls\r'));
	spill.recordMarker('listing ✓');
	spill.append({seq: 2, stream: 'pty', bytes: Buffer.from('a b\n')});
	spill.recordResize(50, 200);
	spill.recordExit({seq: 3, exitCode: 0, reason: 'exit'});
	spill.recordClose(4);
	const expected = [
		{kind: 'resize', seq: 0, rows: 24, cols: 80, ...at(0)},
		{kind: 'output', seq: 1, stream: 'pty', text: '$ ', offset: 0, ...at(1)},
		{kind: 'input', seq: 1, text: 'ls\r', ...at(2)},
		{kind: 'marker', seq: 1, label: 'listing ✓', ...at(3)},
		{kind: 'output', seq: 2, stream: 'pty', text: 'a b\n', offset: 2, ...at(4)},
		{kind: 'resize', seq: 2, rows: 50, cols: 200, ...at(5)},
		{kind: 'exited', seq: 3, ...at(7)},
		{kind: 'closed', seq: 4, ...at(8)},
	];
	expect(readEntries(spill.openReader(0))).toEqual(expected);
	const ended = ProcessSpill.openEnded(spill.directory);
	expect(readEntries(ended.openReader(0))).toEqual(expected);
	expect(readEntries(ended.openReader(1))).toEqual(expected.slice(2));
	expect([ended.exit, ended.closedSeq, ended.nextSeq]).toEqual([{exitCode: 0, reason: 'exit', seq: 3}, 4, 5]);
	expect(readFileSync(join(spill.directory, 'out'), 'utf8')).toBe('$ a b\n');
});

test('pieces of one turn of the event loop are on disk after it, and at once for a reader', async () => {
	const spill = createSpill();
	const out = join(spill.directory, 'out');
	spill.append({seq: 1, stream: 'stdout', bytes: Buffer.from('one ')});
	spill.append({seq: 2, stream: 'stdout', bytes: Buffer.from('two')});
	expect([readFileSync(out, 'utf8'), spill.writtenSeq, spill.firstSeq]).toEqual(['', 0, 1]);
	await waitTicks();
	expect([readFileSync(out, 'utf8'), spill.writtenSeq, spill.firstSeq]).toEqual(['one two', 2, 1]);
	const reader = spill.openReader(2);
	expect(reader.next()).toBeUndefined();
	spill.append({seq: 3, stream: 'stderr', bytes: Buffer.from('three')});
	expect(reader.next()).toMatchObject({seq: 3, stream: 'stderr', offset: 7});
	expect(reader.next()).toBeUndefined();
	reader.close();
});

test('files belong to their owner alone, and a directory or link of that name is never used', () => {
	const spill = createSpill();
	spill.recordInput(Buffer.from('x'));
	spill.recordExit({seq: 1, exitCode: 3, reason: 'exit'});
	const names = readdirSync(spill.directory).sort();
	const modes = names.map(name => [name, statSync(join(spill.directory, name)).mode & 0o777]);
	expect(modes).toEqual(['exit.json', 'idx', 'in', 'meta.json', 'out'].map(name => [name, 0o600]));
	expect(statSync(spill.directory).mode & 0o777).toBe(0o700);
	expect(() => ProcessSpill.create(spill.directory, metaOf('other'))).toThrow('File exists');
	const target = scratchDirectory();
	const link = join(scratchDirectory(), 'link');
	symlinkSync(target, link);
	expect(() => ProcessSpill.create(link, metaOf('other'))).toThrow('File exists');
	expect(readdirSync(target)).toEqual([]);
});

test('a link in the place of a file is refused', () => {
	const spill = createSpill();
	spill.close();
	const elsewhere = join(scratchDirectory(), 'elsewhere');
	writeFileSync(elsewhere, 'precious');
	symlinkSync(elsewhere, join(spill.directory, 'in'));
	expect(() => ProcessSpill.reopen(spill.directory)).toThrow('Symbolic link loop (os error 40)');
	expect(() => ProcessSpill.openEnded(spill.directory)).toThrow('Symbolic link loop (os error 40)');
});

test('files of an ended process are open only while somebody reads them', () => {
	const before = countOpenDescriptors();
	const spill = createSpill();
	spill.append({seq: 1, stream: 'stdout', bytes: bytesOf(1, 100)});
	const early = spill.openReader(0);
	spill.recordExit({seq: 2, exitCode: 0, reason: 'exit'});
	spill.recordClose(3);
	expect(early.next()).toMatchObject({seq: 1});
	early.close();
	expect(countOpenDescriptors()).toBe(before);
	const late = spill.openReader(0);
	onTestFinished(() => late.close());
	expect(late.next()).toMatchObject({seq: 1});
	late.close();
	expect(countOpenDescriptors()).toBe(before);
	const ended = ProcessSpill.openEnded(spill.directory);
	expect([ended.firstSeq, countOpenDescriptors()]).toEqual([1, before]);
});

test('the time of records never goes back, whatever the clock does', () => {
	const times = [5, 9, 2, 11];
	const spill = createSpill({clock: () => STARTED_AT_MS + times.shift()!});
	for (const seq of [1, 2, 3, 4]) spill.append({seq, stream: 'stdout', bytes: bytesOf(seq, 1)});
	const entries = readEntries(spill.openReader(0)) as {ms: number}[];
	expect(entries.map(({ms}) => ms - STARTED_AT_MS)).toEqual([5, 9, 9, 11]);
});

test('input beyond its bound is not recorded, and output goes on', () => {
	const spill = createSpill();
	for (let count = 0; count < 20; count++) spill.recordInput(Buffer.alloc(1024 * KiB));
	spill.append({seq: 1, stream: 'stdout', bytes: bytesOf(1, 10)});
	spill.flush();
	expect(statSync(join(spill.directory, 'in')).size).toBe(15 * 1024 * KiB);
	expect(spill.writtenSeq).toBe(1);
});
