// covers: src/processes/output/log-cursor.ts, src/processes/output/read-output.ts, src/processes/wait/output-matcher.ts
import {mkdirSync, rmSync, truncateSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import type {LogCursor, LogEvent, LogGap} from '../../../src/processes/output/log-cursor.js';
import {OutputLog} from '../../../src/processes/output/output-log.js';
import {readOutput} from '../../../src/processes/output/read-output.js';
import {ProcessSpill} from '../../../src/processes/spill/process-spill.js';
import {toStateError} from '../../../src/processes/spill/state-files.js';
import {OutputMatcher} from '../../../src/processes/wait/output-matcher.js';
import {Lifetime} from '../../../src/shared/async/lifetime.js';
import {createSpill} from '../../helpers/spills.js';

const FOREVER_MS = 10 ** 9;
/** So long that it is on disk, and no longer in memory, when those that wait for it hear of it. */
const LONG = 'x'.repeat(300_000);
const UNUSABLE = {code: 'STATE_UNUSABLE'};

/** A log whose output is on disk only, beside a switch that lets every read of the disk fail. */
class Kept {
	readonly spill: ProcessSpill;
	readonly log: OutputLog;
	readonly #retainedBytes: number;
	isBroken = false;

	constructor(retainedBytes = 0) {
		this.#retainedBytes = retainedBytes;
		this.spill = createSpill();
		const openReader = this.spill.openReader.bind(this.spill);
		this.spill.openReader = afterSeq => {
			const reader = openReader(afterSeq);
			const next = reader.next.bind(reader);
			reader.next = () => {
				if (this.isBroken) throw toStateError(Object.assign(new Error('EIO'), {code: 'EIO'}), this.spill.directory);
				return next();
			};
			return reader;
		};
		this.log = new OutputLog({bytes: retainedBytes, chunks: 100}, {spill: this.spill});
	}

	append(text: string): void {
		this.log.append('stdout', Buffer.from(text));
		this.spill.flush();
		this.log.evict(this.log.retainedBytes - this.#retainedBytes);
	}

	end(): void {
		this.log.recordExit({exitCode: 3, reason: 'exit'});
		this.log.recordClose();
	}
}

function drain(cursor: LogCursor): string[] {
	const told: string[] = [];
	for (let event = cursor.next(); event; event = cursor.next()) told.push(describeEvent(event));
	return told;
}

function describeEvent(event: LogEvent | LogGap): string {
	if (event.kind === 'gap') return `gap ${event.afterSeq + 1}-${event.throughSeq}: ${event.missedBytes}`;
	return event.kind === 'output' ? `${event.seq} ${Buffer.from(event.bytes).toString()}` : `${event.seq} ${event.kind}`;
}

test('an observer is told of output that the disk does not give as a gap, and goes on', () => {
	const kept = new Kept();
	const cursor = kept.log.observe(0, () => {});
	onTestFinished(() => cursor.close());
	kept.append('one');
	kept.append('three');
	kept.append('last');
	expect(describeEvent(cursor.next()!)).toBe('1 one');
	kept.isBroken = true;
	expect(drain(cursor)).toEqual(['gap 2-3: 9']);
	kept.isBroken = false;
	kept.append('again');
	kept.end();
	expect(drain(cursor)).toEqual(['4 again', '5 exited', '6 closed']);
});

test('a gap of unreadable output ends where output is in memory', () => {
	const kept = new Kept(5);
	const cursor = kept.log.drive(() => {}, 0);
	for (const text of ['one', 'three', 'last', 'x']) kept.append(text);
	kept.end();
	kept.isBroken = true;
	expect(drain(cursor)).toEqual(['gap 1-2: 8', '3 last', '4 x', '5 exited', '6 closed']);
	expect(cursor.pendingBytes).toBe(0);
});

test('output that has been removed from disk is a gap for those that were about to read it', async () => {
	const kept = new Kept();
	kept.append('output');
	kept.end();
	const early = kept.log.observe(0, () => {});
	await kept.spill.discard();
	const late = kept.log.observe(0, () => {});
	for (const cursor of [early, late]) {
		expect(cursor.skipOnDisk()).toBeUndefined();
		expect(drain(cursor)).toEqual(['gap 1-1: 6', '2 exited', '3 closed']);
	}
});

test.each([
	['are gone', (directory: string) => rmSync(directory, {recursive: true})],
	[
		'are directories',
		(directory: string) => {
			for (const name of ['out', 'idx']) {
				rmSync(join(directory, name));
				mkdirSync(join(directory, name));
			}
		},
	],
])('an observer of an ended process whose files %s learns how it ended, and how much it missed', (_, harm) => {
	const spill = createSpill();
	spill.append({seq: 1, stream: 'stdout', bytes: Buffer.from('output')});
	spill.recordExit({seq: 2, exitCode: 0, reason: 'exit'});
	spill.recordClose(3);
	const ended = ProcessSpill.openEnded(spill.directory);
	const restored = {
		nextSeq: 4,
		totalBytes: ended.outputBytes,
		streamBytes: () => new Map(),
		exit: ended.exit,
		closedSeq: 3,
	};
	const log = new OutputLog({bytes: 0, chunks: 0}, {spill: ended, restored});
	harm(spill.directory);
	expect(drain(log.observe(0, () => {}))).toEqual(['gap 1-1: 6', '2 exited', '3 closed']);
	expect(log.firstSeq).toBe(4);
});

test('output whose file is shorter than its index says is a gap', () => {
	const kept = new Kept();
	kept.append('one');
	kept.append('two');
	truncateSync(join(kept.spill.directory, 'out'), 3);
	kept.end();
	expect(drain(kept.log.observe(0, () => {}))).toEqual(['1 one', 'gap 2-2: 3', '3 exited', '4 closed']);
});

test('a read that waits fails when the disk does, and the log goes on', async () => {
	const kept = new Kept();
	kept.append('old');
	const request = {afterSeq: 1, maxBytes: undefined, waitMs: FOREVER_MS};
	const waiting = readOutput(kept.log, request, new Lifetime(), page => page.chunks.length);
	kept.isBroken = true;
	expect(() => kept.append(LONG)).not.toThrow();
	await expect(waiting).rejects.toMatchObject(UNUSABLE);
	kept.isBroken = false;
	expect(kept.log.read(0).chunks).toHaveLength(2);
});

test('a read whose page cannot be rendered fails, and the log goes on', async () => {
	const kept = new Kept();
	const request = {afterSeq: 0, maxBytes: undefined, waitMs: FOREVER_MS};
	const waiting = readOutput(kept.log, request, new Lifetime(), () => {
		throw new Error('too long');
	});
	expect(() => kept.append('new')).not.toThrow();
	await expect(waiting).rejects.toThrow('too long');
});

test('a wait for a pattern fails when the disk does, and the log goes on', () => {
	const kept = new Kept();
	const failures: unknown[] = [];
	const events = {matched: () => {}, failed: (error: unknown) => failures.push(error)};
	const matcher = new OutputMatcher(
		kept.log,
		{pattern: 'x', flags: '', afterSeq: 0, afterOffset: 0, account: kept},
		events,
	);
	onTestFinished(() => matcher.stop());
	kept.isBroken = true;
	expect(() => kept.append(LONG)).not.toThrow();
	expect(failures).toEqual([expect.objectContaining(UNUSABLE)]);
});
