import {spawnSync} from 'node:child_process';
import {chmodSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {expect, onTestFinished, test} from 'vitest';
import {DirectoryChain} from '../../../src/filesystem/archive/directory-chain.js';
import {packTree, unpackTree} from '../../../src/filesystem/archive/index.js';
import {EntryErrors} from '../../../src/filesystem/archive/transfer-outcome.js';
import {TreeWriter} from '../../../src/filesystem/archive/tree-writer.js';
import {bytePath} from '../../../src/filesystem/byte-path.js';
import {syncCalls} from '../../../src/filesystem/syscalls.js';
import {needsRoot, runAsNobody} from '../../helpers/needs.js';
import {countOpenDescriptors} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {archiveOf, packed, pictureOf, unpacked} from './trees.js';

// Only root can become somebody else.
test('what may not be read is left out and named', needsRoot(), async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	chmodSync(from, 0o755);
	mkdirSync(join(from, 'closed'));
	writeFileSync(join(from, 'closed', 'inside'), 'x');
	chmodSync(join(from, 'closed'), 0o700);
	writeFileSync(join(from, 'open'), 'x');
	writeFileSync(join(from, 'secret'), 'x');
	chmodSync(join(from, 'secret'), 0o600);
	const {archive, outcome} = await runAsNobody(() => packed(from));
	expect(outcome).toMatchObject({
		entries: 3,
		bytes: 1,
		errors: [
			{path: join(from, 'closed'), message: 'Permission denied (os error 13)'},
			{path: join(from, 'secret'), message: 'Permission denied (os error 13)'},
		],
	});
	await unpacked(archive, to);
	expect([...pictureOf(to).keys()]).toEqual(['', 'closed', 'open']);
});

test('a tree whose root may not be read is not packed at all', needsRoot(), async () => {
	const from = scratchDirectory();
	chmodSync(from, 0o711);
	const refusal = runAsNobody(() => packTree(bytePath(from)));
	await expect(refusal).rejects.toMatchObject({code: 'FILE_REFUSED'});
});

test('a directory that must not be written to gets its content all the same', needsRoot(), async () => {
	const around = scratchDirectory();
	chmodSync(around, 0o777);
	const archive = await archiveOf(
		{name: 'locked', type: 'directory', mode: 0o555},
		{name: 'locked/file', mode: 0o444, content: 'x'},
		{name: 'locked/sub', type: 'directory', mode: 0o100},
		{name: 'locked/sub/file', mode: 0o400, content: 'x'},
	);
	const {errors} = await runAsNobody(() => unpacked(archive, join(around, 'to')));
	expect(errors).toEqual([]);
	const modes = [...pictureOf(join(around, 'to'))].map(([name, {mode}]) => [name, mode]).slice(1);
	expect(modes).toEqual([
		['locked', 0o555],
		['locked/file', 0o444],
		['locked/sub', 0o100],
		['locked/sub/file', 0o400],
	]);
});

test('what is missing of a file that shrinks is zeros, and the archive stays whole', async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	writeFileSync(join(from, 'file'), Buffer.alloc(1_000_000, 'x'));
	writeFileSync(join(from, 'next'), 'content');
	const tree = await packTree(bytePath(from));
	const blocks: Buffer[] = [];
	for (let eof = false; !eof; ) {
		const block = Buffer.alloc(4096);
		const got = await tree.read(block);
		truncateSync(join(from, 'file'), 5000);
		blocks.push(block.subarray(0, got.length));
		eof = got.eof;
	}
	const {errors, sha256} = await tree.finish();
	await tree.close();
	const message = 'shrank while it was read; zeros stand for what is missing';
	expect(errors).toEqual([{path: join(from, 'file'), message}]);
	await unpacked(Buffer.concat(blocks), to, {sha256});
	expect(pictureOf(to).get('next')).toMatchObject({content: 'content'});
	expect(statSync(join(to, 'file')).size).toBe(1_000_000);
});

test('sockets and FIFOs are named and not opened', async () => {
	const from = scratchDirectory();
	expect(spawnSync('mkfifo', [join(from, 'fifo')]).status).toBe(0);
	const server = createServer();
	onTestFinished(() => void server.close());
	await new Promise<void>(resolve => {
		server.listen(join(from, 'socket'), resolve);
	});
	const {outcome, totals} = await packed(from);
	expect(totals).toEqual({entries: 1, bytes: 0});
	expect(outcome.errors).toEqual([
		{path: join(from, 'fifo'), message: 'special files are not taken along'},
		{path: join(from, 'socket'), message: 'special files are not taken along'},
	]);
	await expect(packTree(bytePath(join(from, 'fifo')))).rejects.toMatchObject({code: 'FILE_REFUSED'});
	await expect(packTree(bytePath(join(from, 'none')))).rejects.toMatchObject({code: 'FILE_NOT_FOUND'});
	await expect(unpackTree(bytePath(join(from, 'fifo')))).rejects.toMatchObject({code: 'FILE_FAILED'});
});

test('what disappears while the tree is packed is left out without a word', async () => {
	const from = scratchDirectory();
	for (const name of ['a', 'b', 'c']) writeFileSync(join(from, name), 'x'.repeat(2000));
	const before = countOpenDescriptors();
	const tree = await packTree(bytePath(from));
	await tree.read(Buffer.alloc(1024));
	rmSync(join(from, 'c'));
	const {eof} = await tree.read(Buffer.alloc(100_000));
	expect(eof).toBe(true);
	expect(await tree.finish()).toMatchObject({entries: 3, errors: []});
	await tree.close();
	await expect(tree.read(Buffer.alloc(1))).rejects.toMatchObject({code: 'FILE_REFUSED'});
	expect(countOpenDescriptors()).toBe(before);
});

test('a full disk ends the transfer, and the file that did not fit is removed', async context => {
	const disk = scratchDirectory();
	const {status} = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
	if (status !== 0) context.skip('a disk can be made only where mounting is permitted');
	onTestFinished(() => void spawnSync('umount', [disk]));
	const archive = await archiveOf({name: 'fits', content: 'x'}, {name: 'large', content: 'x'.repeat(1_000_000)});
	const before = countOpenDescriptors();
	await expect(unpacked(archive, disk)).rejects.toMatchObject({
		code: 'FILE_FAILED',
		context: {errno: 'ENOSPC', entry: 'large'},
	});
	expect(readdirSync(disk)).toEqual(['fits']);
	expect(countOpenDescriptors()).toBe(before);
});

test('a file of a part whose first look fails is closed and removed', async () => {
	const target = scratchDirectory();
	const before = countOpenDescriptors();
	const failing = {
		...syncCalls,
		fstat: () => {
			throw Object.assign(new Error('input/output error'), {code: 'EIO'});
		},
	};
	const chain = await DirectoryChain.open(syncCalls, bytePath(target));
	const options = {overwrite: false, partial: true, sync: true, isNew: false};
	const writer = new TreeWriter(failing, chain, new EntryErrors(bytePath(target)), options);
	const entry = {kind: 'file', names: ['file'], size: 4, attributes: {mode: 0o644, mtimeMs: 0}} as const;
	await expect(writer.add(entry, Readable.from([Buffer.from('text')]))).rejects.toThrow('input/output error');
	await writer.close();
	expect(countOpenDescriptors()).toBe(before);
	expect(readdirSync(target)).toEqual([]);
});
