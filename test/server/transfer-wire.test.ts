import {createHash} from 'node:crypto';
import {mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {disconnect} from '../helpers/disconnect.js';
import {uri} from '../helpers/files.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {type Joined, join as joinServer, type Serving, serving} from '../helpers/serving.js';
import type {TestClient} from '../helpers/test-client.js';
import {waitTicks} from '../helpers/ticks.js';

interface Progress {
	readonly entries: number;
	readonly bytes: number;
}

interface ReadBlock {
	readonly chunk: string;
	readonly eof: boolean;
	readonly progress: Progress;
}

interface Outcome extends Progress {
	readonly sha256: string;
	readonly errors: readonly unknown[];
}

const BLOCK_BYTES = 32 * 1024;

/** A tree with some files in it; what is in them tells them apart. */
function exampleTree(mark: string, files = 20): string {
	const root = join(scratchDirectory(), 'tree');
	mkdirSync(join(root, 'sub'), {recursive: true});
	for (let index = 0; index < files; index++) {
		writeFileSync(join(root, index % 2 ? 'sub' : '.', `file-${index}`), `${mark}-${index}-`.repeat(1000));
	}
	symlinkSync('sub', join(root, 'link'));
	return root;
}

function contents(root: string): Record<string, string> {
	const names = [...readdirSync(root), ...readdirSync(join(root, 'sub')).map(name => `sub/${name}`)];
	const files = names.filter(name => /file-/.test(name)).sort();
	return Object.fromEntries(files.map(name => [name, readFileSync(join(root, name), 'utf8')]));
}

/** Reads a packed tree to its end, with several blocks on their way at a time. */
async function readAll(client: TestClient, handleId: string): Promise<{archive: Buffer; last: ReadBlock}> {
	const blocks: ReadBlock[] = [];
	for (let offset = 0; !blocks.at(-1)?.eof; ) {
		const reads = [0, 1, 2].map(ahead =>
			client.call<ReadBlock>('fs/readBlock', {handleId, offset: offset + ahead * BLOCK_BYTES, len: BLOCK_BYTES}),
		);
		blocks.push(...(await Promise.all(reads)));
		offset += 3 * BLOCK_BYTES;
	}
	return {archive: Buffer.concat(blocks.map(({chunk}) => Buffer.from(chunk, 'base64'))), last: blocks.at(-1)!};
}

/** Writes an archive without waiting for one block before the next is sent. */
async function writeAll(client: TestClient, handleId: string, archive: Buffer): Promise<Progress> {
	const writes: Promise<{progress: Progress}>[] = [];
	for (let offset = 0; offset < archive.length; offset += BLOCK_BYTES) {
		const chunk = archive.subarray(offset, offset + BLOCK_BYTES).toString('base64');
		writes.push(client.call('fs/writeBlock', {handleId, offset, chunk}));
	}
	return (await Promise.all(writes)).at(-1)!.progress;
}

async function carry(client: TestClient, mark: string, from: string, to: string): Promise<Outcome> {
	const totals = await client.call('fs/pack', {handleId: `${mark}-out`, path: uri(from)});
	const {archive, last} = await readAll(client, `${mark}-out`);
	const sent = await client.call<Outcome>('fs/finish', {handleId: `${mark}-out`});
	expect(totals).toEqual({handleId: `${mark}-out`, entries: sent.entries, bytes: sent.bytes});
	expect(last.progress).toEqual({entries: sent.entries, bytes: sent.bytes});
	expect(sent.sha256).toBe(createHash('sha256').update(archive).digest('hex'));
	expect(await client.call('fs/unpack', {handleId: `${mark}-in`, path: uri(to)})).toEqual({handleId: `${mark}-in`});
	expect(await writeAll(client, `${mark}-in`, archive)).toEqual({entries: sent.entries, bytes: sent.bytes});
	const arrived = await client.call<Outcome>('fs/finish', {handleId: `${mark}-in`, sha256: sent.sha256});
	expect(arrived).toEqual(sent);
	return arrived;
}

async function joined(): Promise<Joined & {readonly server: Serving}> {
	const server = await serving();
	return {...(await joinServer(server)), server};
}

test('several trees travel at once over one connection, each with its progress and checksum', async () => {
	const {client} = await joined();
	const marks = ['one', 'two', 'three', 'four'];
	await Promise.all(
		marks.map(async mark => {
			const [from, to] = [exampleTree(mark), join(scratchDirectory(), 'deep', 'to')];
			const {entries, errors} = await carry(client, mark, from, to);
			expect({entries, errors}).toEqual({entries: 23, errors: []});
			expect(contents(to)).toEqual(contents(from));
		}),
	);
});

test('a finished handle is closed, and its id free', async () => {
	const {client} = await joined();
	const from = exampleTree('x', 2);
	await carry(client, 'same', from, scratchDirectory());
	await carry(client, 'same', from, scratchDirectory());
	await expect(client.call('fs/finish', {handleId: 'same-in'})).rejects.toMatchObject({code: -32004});
});

test('a transfer says no to what makes no sense, and why', async () => {
	const {client} = await joined();
	const from = exampleTree('x', 2);
	await client.call('fs/pack', {handleId: 'out', path: uri(from)});
	await expect(client.call('fs/pack', {handleId: 'out', path: uri(from)})).rejects.toMatchObject({code: -32600});
	await expect(client.call('fs/finish', {handleId: 'out'})).rejects.toMatchObject({
		code: -32600,
		message: 'the packed tree was not read to its end',
	});
	const write = client.call('fs/writeBlock', {handleId: 'out', offset: 0, chunk: 'AAAA'});
	await expect(write).rejects.toMatchObject({message: 'Bad file descriptor (os error 9)'});
	await expect(client.call('fs/readBlock', {handleId: 'out', offset: 512, len: 512})).rejects.toMatchObject({
		code: -32600,
		message: 'a packed tree is read from front to back: the next block is at 0',
	});
	await client.call('fs/open', {handleId: 'file', path: uri(join(from, 'file-0'))});
	await expect(client.call('fs/finish', {handleId: 'file'})).rejects.toMatchObject({code: -32600});
	const missing = client.call('fs/pack', {handleId: 'none', path: uri(join(from, 'none'))});
	await expect(missing).rejects.toMatchObject({code: -32004});
});

test('a damaged stream is told apart from other failures, for every call that follows', async () => {
	const {client} = await joined();
	await client.call('fs/unpack', {handleId: 'in', path: uri(scratchDirectory())});
	await writeAll(client, 'in', Buffer.alloc(1024));
	const expected = {code: -32603, data: {code: 'TRANSFER_DAMAGED'}};
	await expect(client.call('fs/finish', {handleId: 'in', sha256: 'ab'})).rejects.toMatchObject(expected);
	await expect(client.call('fs/finish', {handleId: 'in'})).rejects.toMatchObject(expected);
	const write = client.call('fs/writeBlock', {handleId: 'in', offset: 1024, chunk: 'AAAA'});
	await expect(write).rejects.toMatchObject(expected);
	await client.call('fs/close', {handleId: 'in'});
	await expect(client.call('fs/finish', {handleId: 'in'})).rejects.toMatchObject({code: -32004});
});

test('closing a handle without finishing removes the file that is half there', async () => {
	const {client} = await joined();
	const [from, to] = [join(scratchDirectory(), 'large'), scratchDirectory()];
	writeFileSync(from, Buffer.alloc(500_000, 'x'));
	await client.call('fs/pack', {handleId: 'out', path: uri(from)});
	const {archive} = await readAll(client, 'out');
	await client.call('fs/unpack', {handleId: 'in', path: uri(to)});
	await writeAll(client, 'in', archive.subarray(0, 100_000));
	expect(readdirSync(to)).toEqual(['large']);
	await client.call('fs/close', {handleId: 'in'});
	while (readdirSync(to).length > 0) await waitTicks(1);
});

test('overwriting has to be asked for', async () => {
	const {client} = await joined();
	const [from, to] = [exampleTree('new', 2), exampleTree('old', 2)];
	await client.call('fs/pack', {handleId: 'out', path: uri(from)});
	const {archive} = await readAll(client, 'out');
	await client.call('fs/unpack', {handleId: 'in', path: uri(to)});
	await expect(writeAll(client, 'in', archive)).rejects.toMatchObject({message: 'file-0: File exists (os error 17)'});
	await client.call('fs/unpack', {handleId: 'again', path: uri(to), overwrite: true});
	await writeAll(client, 'again', archive);
	await client.call('fs/finish', {handleId: 'again'});
	expect(contents(to)).toEqual(contents(from));
});

test('a connection that is lost in the middle leaves no descriptor open and no half file', async () => {
	const {client, end, server} = await joined();
	const other = await joinServer(server);
	const [from, to] = [join(scratchDirectory(), 'from'), scratchDirectory()];
	mkdirSync(join(from, 'a', 'b', 'c'), {recursive: true});
	writeFileSync(join(from, 'a', 'b', 'c', 'large'), Buffer.alloc(2_000_000, 'x'));
	const before = descriptors();
	for (const id of ['one', 'two']) await client.call('fs/pack', {handleId: id, path: uri(from)});
	const {archive} = await readAll(client, 'one');
	await client.call('fs/readBlock', {handleId: 'two', offset: 0, len: 100_000});
	await client.call('fs/unpack', {handleId: 'in', path: uri(to)});
	await writeAll(client, 'in', archive.subarray(0, 1_000_000));
	expect(descriptors()).toBeGreaterThan(before);
	void client.call('fs/writeBlock', {handleId: 'in', offset: 1_000_000, chunk: 'AAAA'}).catch(() => {});
	await disconnect({client, end});
	await other.client.call('environment/status');
	// Both ends of the lost connection go as well.
	while (descriptors() > before - 2) await waitTicks(1);
	expect(readdirSync(join(to, 'a', 'b', 'c'))).toEqual([]);
});

function descriptors(): number {
	return readdirSync('/proc/self/fd').length;
}

test.each([3, 2 ** 52, 2 ** 53, 2 ** 63])(
	'a digest from byte %d on, beyond the end of a file, is that of nothing',
	async offset => {
		const {client} = await joinServer(await serving());
		const file = join(scratchDirectory(), 'file');
		writeFileSync(file, 'abc');
		const {sha256, length} = await client.call<{sha256: string; length: number}>('fs/digest', {
			path: uri(file),
			offset,
			length: 10,
		});
		expect({sha256, length}).toEqual({sha256: createHash('sha256').digest('hex'), length: 0});
	},
);
