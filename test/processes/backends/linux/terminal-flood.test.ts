import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {expect, test} from 'vitest';
import type {Child} from '../../../../src/processes/backends/backend.js';
import {nativeBackend, PTY, type Report, sh, start} from '../../../helpers/children.js';

const MIB = 1024 * 1024;
/** Every line another one, so that a lost or exchanged block changes the digest. */
const NUMBERS = 'stty raw -echo; exec seq 1 400000';

function digest(bytes: Uint8Array): string {
	return createHash('sha256').update(bytes).digest('hex');
}

function expectedNumbers(): Buffer {
	return Buffer.from(Array.from({length: 400_000}, (_, index) => `${index + 1}\n`).join(''));
}

/** Waits for a moment in which a read is on a thread of the pool. */
async function untilAway(child: Child, report: Report): Promise<void> {
	await report.until(() => child.isReading === true);
}

test('a flood comes whole and in order, and is read by the pool for a part of it', async () => {
	const {child, report, finished} = await start(nativeBackend(), sh(NUMBERS, PTY));
	await untilAway(child, report);
	const {pty, exitCode} = await finished();
	expect(exitCode).toBe(0);
	expect(digest(Buffer.from(pty, 'latin1'))).toBe(digest(expectedNumbers()));
});

test('a flood that is paused again and again under a read is whole, and rests while it is paused', async () => {
	const {child, report, finished} = await start(nativeBackend(), sh(NUMBERS, PTY));
	for (let round = 0; round < 5; round++) {
		await untilAway(child, report);
		child.pause();
		// The read that is under way brings its bytes, and no other follows.
		while (child.isReading) await new Promise(setImmediate);
		const {length} = report.chunks;
		for (let tick = 0; tick < 20; tick++) await new Promise(setImmediate);
		expect(report.chunks).toHaveLength(length);
		child.resume();
	}
	expect(digest(Buffer.from((await finished()).pty, 'latin1'))).toBe(digest(expectedNumbers()));
});

test('a stream that is closed under a read ends once, after the bytes of that read', async () => {
	for (let round = 0; round < 5; round++) {
		const {child, report} = await start(nativeBackend(), sh('stty raw; exec cat /dev/zero', PTY));
		await untilAway(child, report);
		child.signal('SIGKILL');
		child.drainAndClose();
		expect(report.ends).toEqual([]);
		await report.until(() => report.ends.length > 0 && report.exits.length > 0);
		expect(child.isReading).toBe(false);
		expect(report.ends).toEqual(['pty']);
		expect(report.timeline.indexOf('pty ended')).toBeGreaterThan(report.timeline.lastIndexOf('pty'));
	}
});

test('a flood whose program is killed under a read gives what was written, and ends', async () => {
	const {child, report, finished} = await start(nativeBackend(), sh('stty raw; exec cat /dev/zero', PTY));
	await untilAway(child, report);
	child.signal('SIGKILL');
	const {pty, exitCode} = await finished();
	expect(exitCode).toBe(137);
	expect(pty.length).toBeGreaterThan(0);
});

test('many terminals flood while files are read: two threads of the pool at most are theirs', async () => {
	const size = 2 * MIB;
	const backend = nativeBackend();
	const script = `stty raw -echo; exec head -c ${size} /dev/zero`;
	const all = await Promise.all(Array.from({length: 8}, () => start(backend, sh(script, PTY))));
	let most = 0;
	for (const {report} of all) {
		report.onOutput = () => {
			most = Math.max(most, all.filter(({child}) => child.isReading).length);
		};
	}
	let files = 0;
	const flood = new AbortController();
	const reads = (async () => {
		for (; !flood.signal.aborted || files === 0; files++) await readFile('/etc/passwd');
	})();
	const results = await Promise.all(all.map(({finished}) => finished()));
	flood.abort();
	await reads;
	expect(results.map(({pty}) => pty.length)).toEqual(all.map(() => size));
	expect(most).toBeGreaterThan(0);
	expect(most).toBeLessThanOrEqual(2);
});
