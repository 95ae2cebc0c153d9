import {closeSync, fstatSync, mkdtempSync, openSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {READ_BYTES} from '../../src/processes/chunk-memory.js';
import {describeEachBackend, PIPES, PTY, posixBackend, sh, start} from '../helpers/children.js';

test.each([PIPES, PTY])('a flood on $kind leaves every turn of the event loop room for others', async io => {
	const {report, over} = await start(posixBackend(), sh('exec head -c 33554432 /dev/zero', io));
	let taken = 0;
	let most = 0;
	let flowing = true;
	const nextTurn = (): void => {
		most = Math.max(most, taken);
		taken = 0;
		if (flowing) setImmediate(nextTurn);
	};
	nextTurn();
	report.onOutput = () => {
		taken += report.chunks.pop()!.bytes.length;
	};
	await over();
	flowing = false;
	expect(most).toBeGreaterThan(0);
	// It stops at 128 KiB, and the read that crosses the mark is the last one.
	expect(most).toBeLessThan(2 * READ_BYTES + READ_BYTES);
});

describeEachBackend(backend => {
	test('input of a terminal that is gone never goes to whoever gets its descriptor next', async () => {
		const {child, report, over} = await start(backend, sh('stty raw -echo; echo ready; exec sleep 1000', PTY));
		await report.shows('ready');
		const written = new Promise<void>(done => child.stdin!.write(Buffer.alloc(1024 * 1024, 'x'), done));
		child.signal('SIGKILL');
		await report.until(() => report.ends.length > 0);
		const files = openFiles(10);
		// What can never be written counts as done, so that nobody waits for it.
		await written;
		expect(files.map(fd => fstatSync(fd).size)).toEqual(files.map(() => 0));
		await over();
	});
});

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
	const {report, over} = await start(
		posixBackend(),
		sh('i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; exit 3', PIPES),
	);
	const {exitCode, stdout} = await over();
	expect([exitCode, stdout]).toEqual([3, Array.from({length: 20_000}, (_, index) => `${index}\n`).join('')]);
	expect(report.chunks.length).toBeLessThan(5000);
});

test('whoever types is answered at once, however often', async () => {
	const {child, report, over} = await start(posixBackend(), sh('exec cat', {kind: 'pipes', stdin: true}));
	for (let index = 1; index <= 100; index++) {
		child.stdin!.write(Buffer.from('x'), () => {});
		await report.until(() => report.chunks.length === index);
	}
	child.stdin!.end();
	expect((await over()).stdout).toBe('x'.repeat(100));
});
