// Basic file operations: readFile, writeFile, createDirectory, getMetadata, readDirectory, remove, copy.
import {execFileSync} from 'node:child_process';
import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {equal, isError, ok} from '../lib/check.mjs';
import {answersAtOnce, base64, bytes, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const NOT_FOUND = -32004;

/** An open connection and a directory with file.txt ("hello"), dir/inner.txt and link -> file.txt. */
async function fixture(t) {
	const peer = await t.open();
	const dir = t.dir();
	const at = (...names) => join(dir, ...names);
	mkdirSync(at('dir', 'sub'), {recursive: true});
	writeFileSync(at('file.txt'), 'hello');
	writeFileSync(at('dir', 'inner.txt'), 'inner');
	symlinkSync('file.txt', at('link'));
	return {peer, at, path: (...names) => ({path: uri(at(...names))})};
}

const copyOf = (from, to, recursive = false) => ({sourcePath: uri(from), destinationPath: uri(to), recursive});

export const tests = group('fs', ({core, current}) => {
	core('readFile returns the bytes of a file', async t => {
		const {peer, at, path} = await fixture(t);
		writeFileSync(at('raw'), Buffer.from([0, 255, 254, 10]));
		equal(await peer.call('fs/readFile', path('file.txt')), {dataBase64: base64('hello')}, 'text file');
		equal((await peer.call('fs/readFile', path('raw'))).dataBase64, 'AP/+Cg==', 'binary file');
	});

	core('readFile follows a link', async t => {
		const {peer, path} = await fixture(t);
		equal((await peer.call('fs/readFile', path('link'))).dataBase64, base64('hello'), 'data');
	});

	core('readFile of a missing file is not-found', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/readFile', path('missing')), NOT_FOUND);
	});

	core('readFile of a directory is an error', async t => {
		const {peer, path} = await fixture(t);
		await peer.fail('fs/readFile', path('dir'));
	});

	core('readFile of a large file is complete', async t => {
		const {peer, at, path} = await fixture(t);
		const data = Buffer.alloc(5_000_000, 'longarm');
		writeFileSync(at('large'), data);
		ok(bytes((await peer.call('fs/readFile', path('large'))).dataBase64).equals(data), 'the same bytes');
	});

	core('writeFile creates and replaces files', async t => {
		const {peer, at, path} = await fixture(t);
		equal(await peer.call('fs/writeFile', {...path('new'), dataBase64: base64('first version')}), {}, 'result');
		equal(readFileSync(at('new'), 'utf8'), 'first version', 'content');
		await peer.call('fs/writeFile', {...path('new'), dataBase64: base64('second')});
		equal(readFileSync(at('new'), 'utf8'), 'second', 'content');
		await peer.call('fs/writeFile', {...path('new'), dataBase64: ''});
		equal(statSync(at('new')).size, 0, 'size');
	});

	core('writeFile writes through a link', async t => {
		const {peer, at, path} = await fixture(t);
		await peer.call('fs/writeFile', {...path('link'), dataBase64: base64('via link')});
		equal(readFileSync(at('file.txt'), 'utf8'), 'via link', 'content of the target');
		ok(lstatSync(at('link')).isSymbolicLink(), 'the link to remain a link');
	});

	core('writeFile into a missing directory is not-found', async t => {
		const {peer, at, path} = await fixture(t);
		isError(await peer.fail('fs/writeFile', {...path('no', 'file'), dataBase64: ''}), NOT_FOUND);
		ok(!existsSync(at('no')), 'nothing to be created');
	});

	core('writeFile with invalid base64 is an invalid request that leaves the file alone', async t => {
		const {peer, at, path} = await fixture(t);
		isError(await peer.fail('fs/writeFile', {...path('file.txt'), dataBase64: '***'}), -32600);
		equal(readFileSync(at('file.txt'), 'utf8'), 'hello', 'content');
	});

	core('createDirectory creates parents by default and may be repeated', async t => {
		const {peer, at, path} = await fixture(t);
		equal(await peer.call('fs/createDirectory', path('a', 'b', 'c')), {}, 'result');
		ok(statSync(at('a', 'b', 'c')).isDirectory(), 'a directory');
		await peer.call('fs/createDirectory', {...path('a', 'b', 'c'), recursive: true});
	});

	core('createDirectory without recursive wants a parent and a free name', async t => {
		const {peer, at, path} = await fixture(t);
		isError(await peer.fail('fs/createDirectory', {...path('x', 'y'), recursive: false}), NOT_FOUND);
		isError(await peer.fail('fs/createDirectory', {...path('dir'), recursive: false}), -32603);
		await peer.call('fs/createDirectory', {...path('x'), recursive: false});
		ok(existsSync(at('x')), 'the directory');
	});

	core('createDirectory over a file is an error', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/createDirectory', path('file.txt')), -32603);
	});

	core('getMetadata describes files and directories', async t => {
		const {peer, at, path} = await fixture(t);
		const {createdAtMs, modifiedAtMs, ...file} = await peer.call('fs/getMetadata', path('file.txt'));
		equal(file, {isDirectory: false, isFile: true, isSymlink: false, size: 5}, 'file');
		equal(
			[typeof createdAtMs, modifiedAtMs],
			['number', Math.floor(statSync(at('file.txt')).mtimeMs)],
			'[type of createdAtMs, modifiedAtMs]',
		);
		const dir = await peer.call('fs/getMetadata', path('dir'));
		equal([dir.isDirectory, dir.isFile, dir.isSymlink], [true, false, false], 'directory');
	});

	core('getMetadata of a link describes the target and says it is a link', async t => {
		const {peer, path} = await fixture(t);
		const {isDirectory, isFile, isSymlink, size} = await peer.call('fs/getMetadata', path('link'));
		equal(
			{isDirectory, isFile, isSymlink, size},
			{isDirectory: false, isFile: true, isSymlink: true, size: 5},
			'metadata',
		);
	});

	core('getMetadata of something missing is not-found', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/getMetadata', path('missing')), NOT_FOUND);
	});

	core('readDirectory lists the entries with their kind', async t => {
		const {peer, path} = await fixture(t);
		const {entries} = await peer.call('fs/readDirectory', path());
		equal(
			entries.sort((a, b) => (a.fileName < b.fileName ? -1 : 1)),
			[
				{fileName: 'dir', isDirectory: true, isFile: false},
				{fileName: 'file.txt', isDirectory: false, isFile: true},
				{fileName: 'link', isDirectory: false, isFile: true},
			],
			'entries',
		);
	});

	core('readDirectory of a file or of nothing is an error', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/readDirectory', path('file.txt')), -32603);
		isError(await peer.fail('fs/readDirectory', path('missing')), NOT_FOUND);
	});

	core('remove deletes files, and whole directories by default', async t => {
		const {peer, at, path} = await fixture(t);
		equal(await peer.call('fs/remove', path('file.txt')), {}, 'result');
		await peer.call('fs/remove', path('dir'));
		equal([existsSync(at('file.txt')), existsSync(at('dir'))], [false, false], 'existence');
	});

	core('remove without recursive refuses a directory that is not empty', async t => {
		const {peer, at, path} = await fixture(t);
		isError(await peer.fail('fs/remove', {...path('dir'), recursive: false}), -32603);
		await peer.call('fs/remove', {...path('dir', 'sub'), recursive: false});
		equal(readdirSync(at('dir')), ['inner.txt'], 'what is left');
	});

	core('remove of something missing is fine unless force is false', async t => {
		const {peer, path} = await fixture(t);
		equal(await peer.call('fs/remove', path('missing')), {}, 'result');
		isError(await peer.fail('fs/remove', {...path('missing'), force: false}), NOT_FOUND);
	});

	core('remove of a link keeps its target', async t => {
		const {peer, at, path} = await fixture(t);
		await peer.call('fs/remove', path('link'));
		equal([existsSync(at('link')), readFileSync(at('file.txt'), 'utf8')], [false, 'hello'], '[link, target]');
	});

	core('copy copies a file over another', async t => {
		const {peer, at} = await fixture(t);
		equal(await peer.call('fs/copy', copyOf(at('file.txt'), at('copy'))), {}, 'result');
		await peer.call('fs/copy', copyOf(at('dir', 'inner.txt'), at('copy')));
		equal(readFileSync(at('copy'), 'utf8'), 'inner', 'content');
	});

	core('copy copies a directory when recursive', async t => {
		const {peer, at} = await fixture(t);
		await peer.call('fs/copy', copyOf(at('dir'), at('twin'), true));
		equal(
			[readFileSync(at('twin', 'inner.txt'), 'utf8'), statSync(at('twin', 'sub')).isDirectory()],
			['inner', true],
			'copy',
		);
	});

	core('copy refuses a directory unless recursive', async t => {
		const {peer, at} = await fixture(t);
		const error = await peer.fail('fs/copy', copyOf(at('dir'), at('twin')));
		isError(error, -32600, 'fs/copy requires recursive: true when sourcePath is a directory');
	});

	core('copy refuses to copy a directory into itself', async t => {
		const {peer, at} = await fixture(t);
		const message = 'fs/copy cannot copy a directory to itself or one of its descendants';
		isError(await peer.fail('fs/copy', copyOf(at('dir'), at('dir', 'sub', 'copy'), true)), -32600, message);
		isError(await peer.fail('fs/copy', copyOf(at('dir'), at('dir'), true)), -32600, message);
	});

	core('copy of a link makes a link', async t => {
		const {peer, at} = await fixture(t);
		await peer.call('fs/copy', copyOf(at('link'), at('link2')));
		equal(readlinkSync(at('link2')), 'file.txt', 'target of the copy');
	});

	core('copy of something missing is not-found', async t => {
		const {peer, at} = await fixture(t);
		isError(await peer.fail('fs/copy', copyOf(at('missing'), at('copy'))), NOT_FOUND);
	});

	core('missing members are invalid params', async t => {
		const {peer, path, at} = await fixture(t);
		for (const method of [
			'readFile',
			'writeFile',
			'createDirectory',
			'getMetadata',
			'readDirectory',
			'remove',
			'copy',
		]) {
			isError(await peer.fail(`fs/${method}`, {}), -32602);
		}
		isError(await peer.fail('fs/writeFile', path('file.txt')), -32602);
		const {recursive: _, ...incomplete} = copyOf(at('file.txt'), at('copy'));
		isError(await peer.fail('fs/copy', incomplete), -32602);
	});

	core('reading a FIFO fails at once instead of waiting for a writer', async t => {
		const {peer, at, path} = await fixture(t);
		execFileSync('mkfifo', [at('fifo')]);
		await answersAtOnce(t, 10, () => peer.fail('fs/readFile', path('fifo')));
		const {isFile, isDirectory} = await peer.call('fs/getMetadata', path('fifo'));
		equal([isFile, isDirectory], [false, false], '[isFile, isDirectory]');
	});

	core('a dangling link is not-found to read and absent from listings', async t => {
		const {peer, at, path} = await fixture(t);
		symlinkSync('nowhere', at('dir', 'dangling'));
		isError(await peer.fail('fs/readFile', path('dir', 'dangling')), NOT_FOUND);
		isError(await peer.fail('fs/getMetadata', path('dir', 'dangling')), NOT_FOUND);
		equal(
			(await peer.call('fs/readDirectory', path('dir'))).entries.map(e => e.fileName).sort(),
			['inner.txt', 'sub'],
			'entries',
		);
	});

	core('copy keeps the mode of a file', async t => {
		const {peer, at} = await fixture(t);
		chmodSync(at('file.txt'), 0o751);
		await peer.call('fs/copy', copyOf(at('file.txt'), at('copy')));
		equal(statSync(at('copy')).mode & 0o777, 0o751, 'mode');
	});

	core('copying a file onto itself keeps its content', {upstream: 'the file is truncated to nothing'}, async t => {
		const {peer, at} = await fixture(t);
		await peer.reply(peer.post('fs/copy', copyOf(at('file.txt'), at('file.txt'))));
		equal(readFileSync(at('file.txt'), 'utf8'), 'hello', 'content');
	});

	core('writing onto a directory is an error', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/writeFile', {...path('dir'), dataBase64: ''}), -32603);
	});

	core('base64 without padding is refused', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/writeFile', {...path('new'), dataBase64: 'YQ'}), -32600);
	});

	current('a file of more than 512 MiB is refused', async t => {
		const {peer, at, path} = await fixture(t);
		writeFileSync(at('huge'), '');
		truncateSync(at('huge'), 513 * 1024 * 1024);
		isError(
			await peer.fail('fs/readFile', path('huge')),
			-32600,
			'file is too large to read: limit is 536870912 bytes',
		);
	});
});
