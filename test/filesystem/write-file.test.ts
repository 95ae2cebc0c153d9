import fs from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {asyncCalls, type FileCalls, syncCalls} from '../../src/filesystem/syscalls.js';
import {writeAll} from '../../src/filesystem/write-file.js';
import {loadKoffi} from '../../src/shared/node/koffi.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {waitTicks} from '../helpers/ticks.js';

/** A disk that takes at most three bytes at a time, as a real one may when it is nearly full. */
const shortWrites: FileCalls = {
	...syncCalls,
	write: (fd, source, position) => syncCalls.write(fd, source.subarray(0, 3), position),
	writev: (fd, sources, position) => syncCalls.write(fd, Buffer.concat(sources).subarray(0, 3), position),
};

test.each([
	['one after the other', null, 'longarm writes all of it'],
	['from an offset', 4, 'old longarm writes all of it'],
])('what the system takes in small pieces is written whole and in order, %s', async (_, offset, expected) => {
	const path = join(scratchDirectory(), 'file');
	fs.writeFileSync(path, offset === null ? '' : 'old content');
	const fd = fs.openSync(path, 'r+');
	await writeAll(shortWrites, fd, Buffer.from('longarm writes all of it'), offset);
	fs.closeSync(fd);
	expect(fs.readFileSync(path, 'utf8')).toBe(expected);
});

test.each([
	['one after the other', null, 'longarm writes all of it', syncCalls],
	['from an offset', 4, 'old longarm writes all of it', asyncCalls],
	['in small pieces', null, 'longarm writes all of it', shortWrites],
	['in small pieces from an offset', 4, 'old longarm writes all of it', shortWrites],
])('content in several blocks is written whole and in order, %s', async (_, offset, expected, calls) => {
	const path = join(scratchDirectory(), 'file');
	fs.writeFileSync(path, offset === null ? '' : 'old content');
	const fd = fs.openSync(path, 'r+');
	await writeAll(
		calls,
		fd,
		['long', '', 'arm', ' writes all', ' of it'].map(text => Buffer.from(text)),
		offset,
	);
	fs.closeSync(fd);
	expect(fs.readFileSync(path, 'utf8')).toBe(expected);
});

test('an atomic write is over when its file is in place, and leaves nothing when it cannot be put there', async () => {
	const directory = scratchDirectory();
	const path = join(directory, 'file');
	const renames = vi.spyOn(asyncCalls, 'rename');
	onTestFinished(() => renames.mockRestore());
	let release!: () => void;
	const gate = new Promise<void>(resolve => (release = resolve));
	renames.mockImplementationOnce(async (from, to) => {
		await gate;
		await fs.promises.rename(from, to);
	});
	let isOver = false;
	const write = (): Promise<void> =>
		files.writeFile(bytePath(path), Buffer.from('new'), {followSymlinks: true, atomic: true});
	const writing = write().then(() => (isOver = true));
	await eventually(() => renames.mock.calls.length === 1);
	await waitTicks();
	expect(isOver).toBe(false);
	release();
	await writing;
	expect(fs.readFileSync(path, 'utf8')).toBe('new');
	renames.mockRejectedValueOnce(new Error('no space left'));
	await expect(write()).rejects.toThrow('no space left');
	expect(fs.readdirSync(directory)).toEqual(['file']);
});

const UNPRIVILEGED = 65534;

test('an atomic write does not replace a file that may not be written, although its directory may', async () => {
	const directory = scratchDirectory();
	const path = join(directory, 'protected');
	fs.writeFileSync(path, 'old');
	fs.chmodSync(path, 0o444);
	beUnprivileged(directory, path);
	for (const followSymlinks of [true, false]) {
		const writing = files.writeFile(bytePath(path), Buffer.from('new'), {followSymlinks, atomic: true});
		await expect(writing).rejects.toThrow('Permission denied (os error 13)');
	}
	expect([fs.readdirSync(directory), fs.readFileSync(path, 'utf8')]).toEqual([['protected'], 'old']);
});

/**
 * Root may write everything: until the end of the test this program is somebody else, who owns these files. Its real user
 * has to change as well, which Node offers only for good: the kernel goes by that one when it is asked what may be done.
 */
function beUnprivileged(...paths: readonly string[]): void {
	if (process.getuid!() !== 0) return;
	for (const path of paths) fs.chownSync(path, UNPRIVILEGED, UNPRIVILEGED);
	const setUsers = loadKoffi().load(null).func('int setresuid(uint real, uint effective, uint saved)') as (
		...ids: number[]
	) => number;
	expect(setUsers(UNPRIVILEGED, UNPRIVILEGED, 0)).toBe(0);
	onTestFinished(() => expect(setUsers(0, 0, 0)).toBe(0));
}
