// fs/open, fs/readBlock, fs/close: reading a file block by block through a handle the client names.
import {execFileSync} from 'node:child_process';
import {readFileSync, renameSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {equal, isError, ok} from '../lib/check.mjs';
import {answersAtOnce, base64, bytes, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const MiB = 1024 * 1024;

async function opened(t, content) {
	const file = join(t.dir(), 'file');
	writeFileSync(file, content);
	const peer = await t.open();
	equal(await peer.call('fs/open', {handleId: 'h', path: uri(file)}), {handleId: 'h'}, 'open');
	return {peer, file, block: (offset, len, handleId = 'h') => peer.call('fs/readBlock', {handleId, offset, len})};
}

export const tests = group('fs-stream', ({current}) => {
	current('blocks can be read at any offset, in any order', async t => {
		const {block} = await opened(t, '0123456789');
		const got = [];
		for (const [offset, len] of [
			[6, 3],
			[1, 2],
			[8, 4],
			[0, 2],
		]) {
			const {chunk, eof} = await block(offset, len);
			got.push([bytes(chunk).toString(), eof]);
		}
		equal(
			got,
			[
				['678', false],
				['12', false],
				['89', true],
				['01', false],
			],
			'[data, eof]',
		);
	});

	current('eof is set by a short block only', async t => {
		const {block} = await opened(t, '0123456789');
		equal(await block(0, 10), {chunk: base64('0123456789'), eof: false}, 'exactly to the end');
		equal(await block(10, 1), {chunk: '', eof: true}, 'at the end');
		equal(await block(500, 5), {chunk: '', eof: true}, 'beyond the end');
	});

	current('a file larger than a block is read completely', async t => {
		const data = Buffer.from(Array.from({length: 2 * MiB + 17}, (_, i) => i % 251));
		const {block} = await opened(t, data);
		const parts = [];
		for (let offset = 0, eof = false; !eof; offset += MiB) {
			const got = await block(offset, MiB);
			parts.push(bytes(got.chunk));
			({eof} = got);
		}
		equal(
			parts.map(p => p.length),
			[MiB, MiB, 17],
			'block sizes',
		);
		ok(Buffer.concat(parts).equals(data), 'the same bytes');
	});

	current('an open handle keeps the file that was opened', async t => {
		const {file, block} = await opened(t, 'original');
		renameSync(file, `${file}.old`);
		writeFileSync(file, 'replaced');
		equal(bytes((await block(0, 8)).chunk).toString(), 'original', 'data');
	});

	current('block lengths of 0 and of more than 1 MiB are refused, and the handle stays usable', async t => {
		const {peer, block} = await opened(t, 'abc');
		for (const len of [0, MiB + 1]) {
			const error = await peer.fail('fs/readBlock', {handleId: 'h', offset: 0, len});
			isError(error, -32600, 'file read block length must be between 1 and 1048576');
		}
		equal((await block(0, 1)).chunk, base64('a'), 'chunk');
	});

	current('a closed or unknown handle is not-found', async t => {
		const {peer} = await opened(t, 'abc');
		equal(await peer.call('fs/close', {handleId: 'h'}), {}, 'close');
		isError(
			await peer.fail('fs/readBlock', {handleId: 'h', offset: 0, len: 1}),
			-32004,
			/^unknown file (read )?handle `h`$/,
		);
	});

	current('closing an unknown handle is no error', async t => {
		equal(await (await t.open()).call('fs/close', {handleId: 'never'}), {}, 'close');
	});

	current('a handle id in use is refused and can be used again once closed', async t => {
		const {peer, file} = await opened(t, 'abc');
		isError(
			await peer.fail('fs/open', {handleId: 'h', path: uri(file)}),
			-32600,
			/^file (read )?handle `h` already exists$/,
		);
		await peer.call('fs/close', {handleId: 'h'});
		await peer.call('fs/open', {handleId: 'h', path: uri(file)});
	});

	current('a handle id of 32 bytes is accepted, of 33 refused', async t => {
		const {peer, file} = await opened(t, 'abc');
		const handleId = 'x'.repeat(32);
		equal(await peer.call('fs/open', {handleId, path: uri(file)}), {handleId}, 'open');
		isError(
			await peer.fail('fs/open', {handleId: `${handleId}x`, path: uri(file)}),
			-32600,
			/^file (read )?handle ID must not exceed 32 bytes$/,
		);
	});

	current('handles belong to their connection', async t => {
		await opened(t, 'abc');
		isError(await (await t.open()).fail('fs/readBlock', {handleId: 'h', offset: 0, len: 1}), -32004);
	});

	current('a missing file is not-found, a directory an invalid request', async t => {
		const peer = await t.open();
		const dir = t.dir();
		isError(await peer.fail('fs/open', {handleId: 'a', path: uri(join(dir, 'missing'))}), -32004);
		isError(await peer.fail('fs/open', {handleId: 'a', path: uri(dir)}), -32600, /is not a file$/);
	});

	current('at most 128 handles are open at a time', async t => {
		const {peer, file} = await opened(t, 'abc');
		for (let i = 1; i < 128; i++) await peer.call('fs/open', {handleId: `h${i}`, path: uri(file)});
		isError(
			await peer.fail('fs/open', {handleId: 'more', path: uri(file)}),
			-32600,
			/^at most 128 file (reads|handles) may be open per connection$/,
		);
		await peer.call('fs/close', {handleId: 'h1'});
		await peer.call('fs/open', {handleId: 'more', path: uri(file)});
	});

	current('mode replace opens for writing blocks', async t => {
		const {peer, file} = await opened(t, 'old content');
		await peer.call('fs/open', {handleId: 'w', path: uri(file), mode: 'replace'});
		equal(await peer.call('fs/writeBlock', {handleId: 'w', offset: 0, chunk: base64('new')}), {}, 'write');
		await peer.call('fs/writeBlock', {handleId: 'w', offset: 3, chunk: base64('er')});
		await peer.call('fs/close', {handleId: 'w'});
		equal(readFileSync(file, 'utf8'), 'newer', 'content');
	});

	current('a FIFO is refused without waiting for a writer', async t => {
		const fifo = join(t.dir(), 'fifo');
		execFileSync('mkfifo', [fifo]);
		const peer = await t.open();
		await answersAtOnce(t, 10, async () =>
			isError(await peer.fail('fs/open', {handleId: 'h', path: uri(fifo)}), -32600, /is not a file$/),
		);
	});

	current('missing members are invalid params', async t => {
		const {peer, file} = await opened(t, 'abc');
		isError(await peer.fail('fs/open', {path: uri(file)}), -32602);
		isError(await peer.fail('fs/open', {handleId: 'h'}), -32602);
		isError(await peer.fail('fs/readBlock', {handleId: 'h', offset: 0}), -32602);
		isError(await peer.fail('fs/close', {}), -32602);
	});

	current('an unknown open mode is invalid params', async t => {
		const {peer, file} = await opened(t, 'abc');
		const open = {handleId: 'm', path: uri(file)};
		for (const mode of ['append', 'write', 5, null]) isError(await peer.fail('fs/open', {...open, mode}), -32602);
		await peer.call('fs/open', {...open, mode: 'read'});
	});

	current('a handle for reading cannot be written, and the other way round', async t => {
		const {peer, file} = await opened(t, 'abc');
		isError(await peer.fail('fs/writeBlock', {handleId: 'h', offset: 0, chunk: base64('x')}), -32603);
		equal(readFileSync(file, 'utf8'), 'abc', 'content');
		await peer.call('fs/open', {handleId: 'w', path: uri(file), mode: 'replace'});
		isError(await peer.fail('fs/readBlock', {handleId: 'w', offset: 0, len: 1}), -32603);
		isError(await peer.fail('fs/writeBlock', {handleId: 'none', offset: 0, chunk: base64('x')}), -32004);
	});
});
