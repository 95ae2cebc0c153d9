// covers: src/processes/managed-process.ts (back-pressure)
import {describe, expect, test} from 'vitest';
import {PAUSE_ABOVE_BYTES, RESUME_BELOW_BYTES} from '../../src/processes/back-pressure.js';
import type {Backend, Child} from '../../src/processes/backends/backend.js';
import {MAX_READ_BYTES} from '../../src/processes/output/chunk-pool.js';
import type {DriverCursor} from '../../src/processes/output/log-cursor.js';
import {describeEachBackend, nativeBackend, PIPES, run, sh} from '../helpers/children.js';
import {Managed} from '../helpers/managed.js';

/** `seq 1 300000`: almost 2 MB in which every missing or doubled byte shows. */
const LAST = 300_000;
const pattern = Array.from({length: LAST}, (_, index) => `${index + 1}\n`).join('');
const flood = sh(`exec seq 1 ${LAST}`, PIPES);

/** Lets a child nobody holds up do the same work twice meanwhile. */
async function timeEnoughFor(backend: Backend): Promise<void> {
	await run(backend, sh(`seq 1 ${LAST} >/dev/null; seq 1 ${LAST} >/dev/null`, PIPES));
}

/** Takes everything there is; the output of it. */
function take(cursor: DriverCursor): string {
	let text = '';
	for (let event = cursor.next(); event; event = cursor.next()) {
		if (event.kind === 'output') text += Buffer.from(event.bytes).toString();
	}
	return text;
}

describeEachBackend(backend => {
	test('a child whose output nobody takes is paused, and goes on when it is taken, without a loss', async () => {
		const managed = new Managed({bytes: 1000, chunks: 10});
		const {process} = managed;
		const cursor = process.log.drive(() => {});
		const startedAt = performance.now();
		await process.spawn(backend, flood);
		await managed.until(() => cursor.pendingBytes > PAUSE_ABOVE_BYTES);
		await timeEnoughFor(backend);
		expect(process.state.kind).toBe('running');
		// It waits, and has not waited longer than it lives.
		expect(process.pressure.pausedMs).toBeGreaterThan(0);
		expect(process.pressure.pausedMs).toBeLessThan(performance.now() - startedAt);
		expect(cursor.pendingBytes).toBeLessThanOrEqual(PAUSE_ABOVE_BYTES + MAX_READ_BYTES);
		let text = '';
		while (process.state.kind !== 'closed' || !cursor.isAtEnd) {
			text += take(cursor);
			cursor.commit();
			// Delivered output is kept only within the retention bounds.
			expect(process.log.retainedBytes).toBeLessThanOrEqual(1000);
			if (process.state.kind !== 'closed') await managed.until(() => !cursor.isAtEnd);
		}
		expect(text === pattern).toBe(true);
	});

	test('a paused child runs on within retention when nobody takes delivery any more', async () => {
		const managed = new Managed({bytes: 100_000, chunks: 1000});
		const {process} = managed;
		const cursor = process.log.drive(() => {});
		await process.spawn(backend, flood);
		await managed.until(() => cursor.pendingBytes > PAUSE_ABOVE_BYTES);
		cursor.close();
		await managed.reaches('closed');
		expect(process.log.totalBytes).toBe(pattern.length);
		expect(process.log.retainedBytes).toBeLessThanOrEqual(100_000);
		expect(pattern.endsWith(managed.text)).toBe(true);
		expect(process.log.read(0).missedBytes).toBe(pattern.length - managed.text.length);
	});

	test('a paused child runs on when somebody else takes delivery', async () => {
		const managed = new Managed();
		const {process} = managed;
		const first = process.log.drive(() => {});
		await process.spawn(backend, flood);
		await managed.until(() => first.pendingBytes > PAUSE_ABOVE_BYTES);
		const before = process.log.totalBytes;
		const second = process.log.drive(() => {});
		await managed.until(() => second.pendingBytes > PAUSE_ABOVE_BYTES);
		expect(take(second) === pattern.slice(before, process.log.totalBytes)).toBe(true);
		second.close();
		await managed.reaches('closed');
	});

	test('terminate keeps what was in the pipe of a paused child', async () => {
		const managed = new Managed();
		const {process} = managed;
		const cursor = process.log.drive(() => {});
		await process.spawn(backend, flood);
		await managed.until(() => cursor.pendingBytes > PAUSE_ABOVE_BYTES);
		await timeEnoughFor(backend);
		const before = process.log.totalBytes;
		expect(process.terminate().running).toBe(true);
		await managed.reaches('closed');
		const {text} = managed;
		expect(process.state).toMatchObject({kind: 'closed', exitCode: 137});
		expect(pattern.startsWith(text)).toBe(true);
		// A pipe holds 64 KiB, and the child had every chance to fill it.
		expect(text.length).toBeGreaterThanOrEqual(before + 32 * 1024);
	});

	test('output before somebody takes delivery is left to readers', async () => {
		const managed = new Managed();
		await managed.process.spawn(backend, sh('echo early; read line; echo late', {kind: 'pipes', stdin: true}));
		await managed.shows('early');
		const cursor = managed.process.log.drive(() => {});
		await managed.process.write(Buffer.from('\n'), undefined);
		await managed.reaches('closed');
		expect(take(cursor)).toBe('late\n');
		expect(managed.text).toBe('early\nlate\n');
	});
});

describe('the child is told', () => {
	test('once to pause above one mark and once to go on below the other', async () => {
		const told: string[] = [];
		const posix = nativeBackend();
		const backend: Backend = {
			name: 'telling',
			spawn(request, events): Child {
				const child = posix.spawn(request, events) as Child;
				const own = {pause: child.pause.bind(child), resume: child.resume.bind(child)};
				const pause = (): void => {
					told.push('pause');
					own.pause();
				};
				const resume = (): void => {
					told.push('resume');
					own.resume();
				};
				return Object.assign(child, {pause, resume});
			},
		};
		const managed = new Managed();
		const {process} = managed;
		const cursor = process.log.drive(() => {});
		await process.spawn(backend, flood);
		await managed.until(() => cursor.pendingBytes > PAUSE_ABOVE_BYTES);
		await timeEnoughFor(posix);
		expect(told).toEqual(['pause']);
		while (cursor.pendingBytes > RESUME_BELOW_BYTES) {
			expect(told).toEqual(['pause']);
			cursor.next();
			cursor.commit();
		}
		expect(told).toEqual(['pause', 'resume']);
		cursor.close();
		await managed.reaches('closed');
	});
});
