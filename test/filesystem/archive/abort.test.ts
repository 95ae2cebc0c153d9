import {readdirSync, readlinkSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {unpackTree} from '../../../src/filesystem/archive/index.js';
import {bytePath} from '../../../src/filesystem/byte-path.js';
import {asyncCalls, type FileCalls} from '../../../src/filesystem/syscalls.js';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {archiveOf} from './trees.js';

vi.mock('../../../src/shared/node/mounts.js', () => ({mayHang: () => true}));

type AnyCall = (...parameters: readonly unknown[]) => unknown;

/** Smaller than the content of an entry: some of it is still to come when the entry is created. */
const BLOCK_BYTES = 1000;

/** Lets the call of that number, from 1 on, wait for `go`. */
function delayCall(number: number): {reached: Promise<void>; go: () => void; restore: () => void} {
	const [reached, gate] = [new Deferred(), new Deferred()];
	const calls = asyncCalls as unknown as Record<string, AnyCall>;
	const originals = {...calls};
	let count = 0;
	for (const [name, call] of Object.entries(originals)) {
		calls[name as keyof FileCalls] = async (...parameters) => {
			if (++count === number) {
				reached.resolve();
				await gate.promise;
			}
			return call(...parameters);
		};
	}
	return {reached: reached.promise, go: gate.resolve, restore: () => void Object.assign(calls, originals)};
}

function openFilesBelow(directory: string): string[] {
	const names = readdirSync('/proc/self/fd').map(fd => {
		try {
			return readlinkSync(`/proc/self/fd/${fd}`);
		} catch {
			return '';
		}
	});
	return names.filter(name => name.startsWith(directory));
}

/** Byte of a header that tells the type of the entry. */
const TYPE_OFFSET = 156;
const CHECKSUM = {from: 148, to: 156};
const FILE = '0';

/** Makes another type of a file, which keeps its content. */
function retype(archive: Buffer, name: string, type: string): void {
	const header = archive.subarray(archive.indexOf(`${name}\0`)).subarray(0, 512);
	header.write(type, TYPE_OFFSET, 'latin1');
	header.fill(' ', CHECKSUM.from, CHECKSUM.to);
	const sum = header.reduce((total, byte) => total + byte, 0);
	header.write(`${sum.toString(8).padStart(6, '0')}\0`, CHECKSUM.from, 'latin1');
}

test.each([
	['a file', FILE],
	['a hard link', '1'],
	['a symbolic link', '2'],
	['a FIFO', '6'],
])('a transfer whose disk is slow at %s with content can be given up at every step', async (_, type) => {
	const entry = {name: 'entry', linkname: 'first', content: 'x'.repeat(3 * BLOCK_BYTES)};
	const archive = await archiveOf({name: 'directory', type: 'directory'}, {name: 'first', content: 'x'}, entry, {
		name: 'last',
		content: 'x',
	});
	retype(archive, entry.name, type);
	for (const options of [{}, {partial: true, sync: true}]) {
		let isReached = true;
		for (let number = 1; isReached; number++) {
			const to = join(scratchDirectory(), 'to');
			const tree = await unpackTree(bytePath(to), options);
			const {reached, go, restore} = delayCall(number);
			onTestFinished(restore);
			const writing = (async () => {
				for (let offset = 0; offset < archive.length; offset += BLOCK_BYTES) {
					await tree.write(archive.subarray(offset, offset + BLOCK_BYTES));
				}
				await tree.finish();
				return false;
			})();
			isReached = await Promise.race([reached.then(() => true), writing]);
			const aborted = tree.abort();
			// The stream of the archive is closed when the disk answers.
			await new Promise(resolve => setImmediate(resolve));
			go();
			await Promise.all([aborted, writing.catch(() => {})]);
			restore();
			expect(openFilesBelow(to)).toEqual([]);
		}
	}
});
