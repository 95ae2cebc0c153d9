// covers: src/processes/spill (bounds and full disks)
import {readFileSync, rmSync, statSync, writeFileSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import * as fc from 'fast-check';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {ProcessSpill, RETRY_BLOCKED_MS} from '../../../src/processes/spill/process-spill.js';
import type {SpillOptions} from '../../../src/processes/spill/spill-options.js';
import {stopClock} from '../../helpers/clock.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {needsMount, smallDisk} from '../../helpers/small-disk.js';
import {bytesOf, createSpill, metaOf, readAll, readEntries} from '../../helpers/spills.js';

const KiB = 1024;
const MiB = 1024 * KiB;

function texts(spill: {openReader: ProcessSpill['openReader']}): string[] {
	return readAll(spill.openReader(0)).map(({text}) => text);
}

function expectedTexts(count: number, size: number): string[] {
	return Array.from({length: count}, (_, index) => bytesOf(index + 1, size).toString('latin1'));
}

/** A chunk in memory that is used again at once, as the log does with chunks that were evicted. */
function append(spill: ProcessSpill, seq: number, size: number): void {
	const bytes = bytesOf(seq, size);
	spill.append({seq, stream: 'stdout', bytes});
	bytes.fill(0);
}

describe('on a full disk', needsMount(), () => {
	test.each([64 * KiB, 700])('nothing of chunks of %i bytes is lost, and writing goes on when there is room', size => {
		stopClock();
		const disk = smallDisk('1m');
		const onUnblocked = vi.fn<() => void>();
		const spill = createSpill({}, disk);
		spill.onUnblocked(onUnblocked);
		const ballast = join(disk, 'ballast');
		writeFileSync(ballast, Buffer.alloc(512 * KiB));
		let count = 0;
		while (!spill.isBlocked) append(spill, ++count, size);
		expect(spill.blockedBy).toContain('ENOSPC');
		expect(spill.writtenSeq).toBeLessThan(count);
		append(spill, ++count, size);
		append(spill, ++count, 3);
		vi.advanceTimersByTime(RETRY_BLOCKED_MS);
		expect([spill.isBlocked, onUnblocked.mock.calls.length]).toEqual([true, 0]);
		const readable = texts(spill);
		expect(readable).toEqual(expectedTexts(readable.length, size));
		expect(readable.length).toBe(spill.writtenSeq);
		rmSync(ballast);
		vi.advanceTimersByTime(RETRY_BLOCKED_MS);
		expect([spill.isBlocked, spill.blockedBy, onUnblocked.mock.calls.length]).toEqual([false, undefined, 1]);
		expect(spill.writtenSeq).toBe(count);
		const expected = [...expectedTexts(count - 1, size), bytesOf(count, 3).toString('latin1')];
		expect(texts(spill)).toEqual(expected);
		expect(readFileSync(join(spill.directory, 'out'), 'latin1')).toBe(expected.join(''));
	});

	test('the exit is saved when there is room again', () => {
		stopClock();
		const disk = smallDisk('1m');
		const spill = createSpill({}, disk);
		const ballast = join(disk, 'ballast');
		writeFileSync(ballast, Buffer.alloc(512 * KiB));
		let count = 0;
		while (!spill.isBlocked) append(spill, ++count, 4 * KiB);
		spill.recordExit({seq: count + 1, exitCode: 7, reason: 'exit'});
		spill.recordClose(count + 2);
		rmSync(ballast);
		vi.advanceTimersByTime(RETRY_BLOCKED_MS);
		const ended = ProcessSpill.openEnded(spill.directory);
		expect([ended.exit, ended.closedSeq]).toEqual([{exitCode: 7, reason: 'exit', seq: count + 1}, count + 2]);
		expect(texts(ended)).toEqual(expectedTexts(count, 4 * KiB));
	});

	test('the oldest output makes room if that is wanted', () => {
		const spill = createSpill({maxBytes: 100 * MiB, onFull: 'dropOldest'}, smallDisk('1m'));
		for (let seq = 1; seq <= 100; seq++) append(spill, seq, 32 * KiB);
		spill.flush();
		expect([spill.isBlocked, spill.writtenSeq]).toEqual([false, 100]);
		expect(spill.firstSeq).toBeGreaterThan(60);
		expect(spill.droppedBytes(0, 100)).toBe((spill.firstSeq - 1) * 32 * KiB);
		expect(texts(spill)).toEqual(expectedTexts(100, 32 * KiB).slice(spill.firstSeq - 1));
	});

	test('a spill that cannot be made says why, and leaves nothing', () => {
		const disk = smallDisk('1m');
		writeFileSync(join(disk, 'ballast'), Buffer.alloc(1020 * KiB));
		const big = metaOf('process', {argv: ['x'.repeat(100 * KiB)]});
		const attempt = (): unknown => ProcessSpill.create(join(disk, 'process'), big);
		expect(attempt).toThrow(expect.objectContaining({code: 'STATE_UNUSABLE'}));
		expect(attempt).toThrow('No space left on device (os error 28)');
		expect(() => statSync(join(disk, 'process'))).toThrow('ENOENT');
	});
});

test('whenever a write fails, and however much of it was done, nothing is lost and no record is before its bytes', () => {
	stopClock();
	const parent = scratchDirectory();
	let count = 0;
	const sizes = fc.array(fc.oneof(fc.nat(50), fc.constantFrom(16 * KiB, 70 * KiB)), {minLength: 1, maxLength: 30});
	fc.assert(
		fc.property(sizes, fc.array(fc.option(fc.nat(200))), (lengths, plan) => {
			const faults = [...plan];
			const write: SpillOptions['write'] = (fd, bytes, offset, length, position) => {
				const part = faults.shift() ?? undefined;
				if (part === undefined) return writeSync(fd, bytes, offset, length, position);
				if (part > 0 && part < length) return writeSync(fd, bytes, offset, part, position);
				throw Object.assign(new Error('EIO: i/o error'), {code: 'EIO'});
			};
			const directory = join(parent, String(count++));
			const spill = ProcessSpill.create(directory, metaOf('process'), {write});
			lengths.forEach((length, index) => {
				append(spill, index + 1, length);
				if (index % 3 === 0) spill.recordInput(bytesOf(index, 9));
				if (index % 5 === 0) spill.flush();
				const isOnDisk = readAll(ProcessSpill.openEnded(directory).openReader(0)).length;
				expect(isOnDisk).toBeGreaterThanOrEqual(spill.writtenSeq);
			});
			for (let attempt = 0; attempt <= plan.length; attempt++) {
				spill.flush();
				vi.advanceTimersByTime(RETRY_BLOCKED_MS);
			}
			expect([spill.isBlocked, spill.writtenSeq]).toEqual([false, lengths.length]);
			const expected = lengths.map((length, index) => bytesOf(index + 1, length).toString('latin1'));
			expect(texts(spill)).toEqual(expected);
			spill.close();
			expect(texts(ProcessSpill.openEnded(directory))).toEqual(expected);
		}),
		{numRuns: 80},
	);
});

test('at its bound a spill is blocked until the exit, and the rest is written when all streams have ended', () => {
	const onUnblocked = vi.fn<() => void>();
	const spill = createSpill({maxBytes: 1000});
	spill.onUnblocked(onUnblocked);
	for (let seq = 1; seq <= 9; seq++) append(spill, seq, 100);
	spill.flush();
	// A chunk counts with its record.
	expect([spill.isBlocked, spill.writtenSeq, spill.bytes]).toEqual([true, 7, 924]);
	expect(spill.blockedBy).toBe('its 1000 bytes are full');
	spill.recordExit({seq: 10, exitCode: 0, reason: 'exit'});
	expect([spill.isBlocked, spill.writtenSeq]).toEqual([false, 7]);
	expect(ProcessSpill.openEnded(spill.directory).exit).toEqual({seq: 8, exitCode: 0, reason: 'exit'});
	append(spill, 11, MiB);
	// A descendant writes on.
	expect([spill.isBlocked, spill.writtenSeq]).toEqual([true, 7]);
	spill.recordClose(12);
	expect([spill.isBlocked, spill.writtenSeq, onUnblocked.mock.calls.length]).toEqual([false, 12, 0]);
	const entries = readEntries(ProcessSpill.openEnded(spill.directory).openReader(7)) as {kind: string; seq: number}[];
	expect(entries.map(({kind, seq}) => `${kind} ${seq}`)).toEqual([
		'output 8',
		'output 9',
		'exited 10',
		'output 11',
		'closed 12',
	]);
});

test('the oldest output is dropped in large steps, its space given back and its absence recorded', () => {
	const maxBytes = 4 * MiB;
	const spill = createSpill({maxBytes, onFull: 'dropOldest'});
	for (let seq = 1; seq <= 300; seq++) {
		append(spill, seq, 64 * KiB);
		expect(spill.bytes).toBeLessThanOrEqual(maxBytes);
	}
	spill.flush();
	expect(spill.isBlocked).toBe(false);
	expect(spill.firstSeq).toBeGreaterThan(230);
	const {size, blocks} = statSync(join(spill.directory, 'out'));
	expect(size).toBe(300 * 64 * KiB);
	expect(blocks * 512).toBeLessThanOrEqual(maxBytes + 64 * KiB);
	const last = (readEntries(spill.openReader(0)) as {kind: string; bytes?: number}[]).findLast(
		({kind}) => kind === 'dropped',
	);
	expect(last?.bytes).toBe((spill.firstSeq - 1) * 64 * KiB);
	expect(spill.droppedBytes(0, 300)).toBe((spill.firstSeq - 1) * 64 * KiB);
	expect(spill.droppedBytes(10, 12)).toBe(2 * 64 * KiB);
	spill.close();
	const again = ProcessSpill.reopen(spill.directory, {maxBytes, onFull: 'dropOldest'});
	onTestFinished(() => again.close());
	expect([again.firstSeq, again.bytes]).toEqual([spill.firstSeq, spill.bytes]);
	expect(again.droppedBytes(10, 12)).toBe(2 * 64 * KiB);
});

test('the index of an endless process is bounded, too', () => {
	const maxBytes = 256 * KiB;
	const spill = createSpill({maxBytes, onFull: 'dropOldest'});
	const count = 200_000;
	for (let seq = 1; seq <= count; seq++) spill.append({seq, stream: 'stdout', bytes: Buffer.from('x')});
	spill.flush();
	const {size, blocks} = statSync(join(spill.directory, 'idx'));
	expect(size).toBeGreaterThan(count * 32);
	expect(blocks * 512).toBeLessThan(maxBytes + 1.5 * MiB);
	expect(spill.droppedBytes(0, count)).toBe(spill.firstSeq - 1);
	expect(spill.droppedBytes(spill.firstSeq - 100, count)).toBe(99);
	expect(spill.droppedBytes(5, count)).toBeLessThan(spill.firstSeq);
	const reader = spill.openReader(5);
	expect([reader.next()?.seq, reader.next()?.seq]).toEqual([spill.firstSeq, spill.firstSeq + 1]);
	reader.close();
	const kept = readAll(spill.readFrom({byte: count - 3}));
	expect(kept.map(({seq}) => seq)).toEqual([count - 2, count - 1, count]);
	spill.close();
	const ended = ProcessSpill.openEnded(spill.directory);
	expect([ended.firstSeq, ended.droppedBytes(0, count)]).toEqual([spill.firstSeq, spill.firstSeq - 1]);
});

test('a slow reader skips what was dropped in front of it, and knows how much it was', () => {
	const spill = createSpill({maxBytes: 64 * KiB, onFull: 'dropOldest'});
	for (let seq = 1; seq <= 10; seq++) append(spill, seq, KiB);
	const reader = spill.openReader(0);
	expect(reader.next()?.seq).toBe(1);
	for (let seq = 11; seq <= 200; seq++) append(spill, seq, KiB);
	const next = reader.next();
	expect(next?.seq).toBeGreaterThanOrEqual(spill.firstSeq);
	expect(next && Buffer.from(next.bytes)).toEqual(bytesOf(next!.seq, KiB));
	expect(reader.missedBytes).toBe(spill.droppedBytes(1, 200));
	expect(reader.missedBytes).toBe((next!.seq - 2) * KiB);
	reader.close();
});

test('where files can have no holes the oldest output is not dropped but waited for', () => {
	const spill = createSpill({maxBytes: 1000, onFull: 'dropOldest', punchHole: () => false});
	for (let seq = 1; seq <= 9; seq++) append(spill, seq, 100);
	spill.flush();
	expect([spill.isBlocked, spill.firstSeq, spill.writtenSeq, spill.totalDroppedBytes]).toEqual([true, 1, 7, 0]);
});
