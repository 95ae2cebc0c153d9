import {execFileSync} from 'node:child_process';
import {closeSync, constants, fstatSync, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {currentTick, MAX_DRAIN_BYTES, OutputReader} from '../../../src/processes/backends/output-reader.js';
import {MAX_READ_BYTES} from '../../../src/processes/output/chunk-pool.js';
import {describeEachBackend, nativeBackend, PIPES, PTY, sh, start} from '../../helpers/children.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {waitTicks} from '../../helpers/ticks.js';

test.each([PIPES, PTY])('a flood on $kind leaves every tick of the event loop room for others', async io => {
	const {report, finished} = await start(nativeBackend(), sh('exec head -c 33554432 /dev/zero', io));
	let taken = 0;
	let most = 0;
	let flowing = true;
	const nextTick = (): void => {
		most = Math.max(most, taken);
		taken = 0;
		if (flowing) setImmediate(nextTick);
	};
	nextTick();
	report.onOutput = () => {
		taken += report.chunks.pop()!.bytes.length;
	};
	await finished();
	flowing = false;
	expect(most).toBeGreaterThan(0);
	// It stops at 256 KiB of a pipe that stays full and at 128 KiB otherwise, with the read that crosses the mark.
	const mark = io.kind === 'pty' ? 2 * MAX_READ_BYTES : 4 * MAX_READ_BYTES;
	expect(most).toBeLessThanOrEqual(mark + MAX_READ_BYTES);
});

describeEachBackend(backend => {
	test('what a terminal still holds when its program is gone is read to the end', async () => {
		// More than one read gives, less than makes the program wait.
		const size = 10_000;
		for (let round = 0; round < 10; round++) {
			const {child, report, finished} = await start(backend, sh(`stty raw; head -c ${size} /dev/zero`, PTY));
			// Nothing is read before the program has ended.
			child.pause();
			await report.until(() => report.exits.length > 0);
			child.resume();
			expect((await finished()).pty).toHaveLength(size);
		}
	});

	test('input of a terminal that is gone never goes to whoever gets its descriptor next', async () => {
		const {child, report, finished} = await start(backend, sh('stty raw -echo; echo ready; exec sleep 1000', PTY));
		await report.shows('ready');
		const written = new Promise<void>(done => child.stdin!.write(Buffer.alloc(1024 * 1024, 'x'), done));
		child.signal('SIGKILL');
		await report.until(() => report.ends.length > 0);
		const files = openFiles(10);
		// A write that can never succeed counts as done, so that its caller does not wait.
		await written;
		expect(files.map(fd => fstatSync(fd).size)).toEqual(files.map(() => 0));
		await finished();
	});
});

test('letting go of a pipe that is never empty takes a bounded amount of it', async () => {
	// Every byte that is taken is written anew at once, as by a writer that is always faster.
	const {read, fill} = pipe();
	fill();
	let taken = 0;
	const ended = new Promise<void>(resolve => {
		const reader = new OutputReader(read, 'pipe', {
			data: bytes => {
				taken += bytes.length;
				if (taken > 2 * MAX_DRAIN_BYTES) throw new Error('it is never let go');
				fill();
			},
			end: resolve,
		});
		reader.pause();
		reader.drainAndClose();
	});
	await ended;
	expect(taken).toBe(MAX_DRAIN_BYTES);
});

test('a reader that is paused while it waits for its turn stays paused', async () => {
	const {read, fill} = pipe();
	fill();
	let [reads, readsAtPause] = [0, 0];
	const reader = new OutputReader(read, 'pipe', {
		data: () => {
			reads++;
			fill();
			// Behind the decision to wait, which the second read of a turn brings, and before the next turn.
			process.nextTick(() => {
				if (reads < 2 || readsAtPause > 0) return;
				readsAtPause = reads;
				reader.pause();
			});
		},
		end: () => {},
	});
	onTestFinished(() => reader.drainAndClose());
	await eventually(() => readsAtPause > 0);
	await waitTicks();
	expect(reads).toBe(readsAtPause);
	reader.resume();
	await eventually(() => reads > readsAtPause);
});

/** A pipe whose writing end is our own; `fill` writes until it is full. */
function pipe(): {readonly read: number; readonly fill: () => void} {
	const path = join(scratchDirectory(), 'fifo');
	execFileSync('mkfifo', [path]);
	const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
	const write = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
	onTestFinished(() => closeSync(write));
	const content = Buffer.alloc(MAX_READ_BYTES);
	const fill = (): void => {
		try {
			for (;;) writeSync(write, content);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
		}
	};
	return {read, fill};
}

/** New files; the first ones get the lowest descriptors that are free. */
function openFiles(count: number): number[] {
	const directory = mkdtempSync(join(tmpdir(), 'longarm-descriptors-'));
	const files = Array.from({length: count}, (_, index) => openSync(join(directory, `${index}`), 'w'));
	onTestFinished(() => {
		for (const fd of files) closeSync(fd);
		rmSync(directory, {recursive: true});
	});
	return files;
}

test('many small pieces travel together, none is lost, and the exit comes behind them', async () => {
	const {report, finished} = await start(
		nativeBackend(),
		sh('i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; exit 3', PIPES),
	);
	const {exitCode, stdout} = await finished();
	expect([exitCode, stdout]).toEqual([3, Array.from({length: 20_000}, (_, index) => `${index}\n`).join('')]);
	expect(report.chunks.length).toBeLessThan(5000);
});

test('whoever types is answered at once, however often', async () => {
	const {child, report, finished} = await start(nativeBackend(), sh('exec cat', {kind: 'pipes', stdin: true}));
	for (let index = 1; index <= 100; index++) {
		child.stdin!.write(Buffer.from('x'), () => {});
		await report.until(() => report.chunks.length === index);
	}
	child.stdin!.end();
	expect((await finished()).stdout).toBe('x'.repeat(100));
});

test('currentTick is one number per tick of the event loop, and another in the next', async () => {
	const seen: number[] = [];
	for (let round = 0; round < 3; round++) {
		const tick = currentTick();
		await Promise.resolve();
		expect(currentTick()).toBe(tick);
		seen.push(tick);
		await waitTicks(1);
	}
	expect(new Set(seen).size).toBe(3);
});
