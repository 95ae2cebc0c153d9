import {expect, test} from 'vitest';
import {MAX_CONTENT_BYTES} from '../../../../src/client/files/remote/large-files.js';
import {RemoteFiles} from '../../../../src/client/files/remote/remote-files.js';
import {BLOCK_BYTES, MAX_BLOCKS_UNDER_WAY} from '../../../../src/client/files/streams/block-reader.js';
import {MAX_WAITING_CHANGES} from '../../../../src/client/files/streams/watch-stream.js';
import {INVALID_PARAMS} from '../../../../src/protocol/wire/error-codes.js';
import {base64} from '../../../helpers/files.js';
import {FakeServer} from '../../fake-server.js';

async function greeted(capabilities: Record<string, boolean> = {}) {
	const server = await FakeServer.greet(capabilities);
	return {server, files: new RemoteFiles(async () => server.client)};
}

const METADATA = {isDirectory: false, isFile: true, isSymlink: false, size: 1, createdAtMs: 0, modifiedAtMs: 0};
const SANDBOX = {
	permissions: {
		type: 'managed' as const,
		file_system: {type: 'restricted' as const, entries: []},
		network: 'restricted' as const,
	},
	windowsSandboxLevel: 'disabled' as const,
	cwd: 'file:///work',
	workspaceRoots: ['file:///work'],
};
const block = (length: number, eof: boolean) => ({chunk: base64(Buffer.alloc(length)), eof});

test('the same question about metadata is asked once at a time, until something is changed', async () => {
	const {server, files} = await greeted();
	const [one, other] = [files.metadata('/a'), files.metadata('file:///a')];
	const unlike = files.metadata('/a', {followSymlinks: false});
	const first = await server.asked('fs/getMetadata');
	expect(first.params).toEqual({path: 'file:///a'});
	const second = await server.asked('fs/getMetadata');
	expect(second.params).toEqual({path: 'file:///a', followSymlinks: false});
	const removing = files.remove('/b');
	const third = files.metadata('/a');
	expect((await server.answer('fs/remove', {})).params).toEqual({path: 'file:///b', recursive: true, force: true});
	const {id} = await server.asked('fs/getMetadata');
	await removing;
	for (const [request, size] of [
		[first.id, 1],
		[second.id, 2],
		[id, 3],
	] as const) {
		server.peer.send({id: request, result: {...METADATA, size}});
	}
	const sizes = await Promise.all([one, other, unlike, third]);
	expect(sizes.map(({size}) => size)).toEqual([1, 1, 2, 3]);
	// And asked again once it was answered.
	const later = files.metadata('/a');
	await server.answer('fs/getMetadata', METADATA);
	await later;
});

test('where the caller works is told only if the permissions depend on it', async () => {
	const {server, files} = await greeted();
	void files.metadata('/a', {sandbox: SANDBOX}).catch(() => {});
	const {cwd: _cwd, workspaceRoots: _roots, ...rest} = SANDBOX;
	expect((await server.asked('fs/getMetadata')).params).toEqual({path: 'file:///a', sandbox: rest});
	const entries = [{path: {type: 'glob_pattern' as const, pattern: '*.env'}, access: 'deny' as const}];
	const permissions = {...SANDBOX.permissions, file_system: {type: 'restricted' as const, entries}};
	void files.metadata('/a', {sandbox: {...SANDBOX, permissions}}).catch(() => {});
	expect((await server.asked('fs/getMetadata')).params).toMatchObject({sandbox: {cwd: 'file:///work'}});
});

test('a file is not streamed past a sandbox that streams do not know', async () => {
	const {server, files} = await greeted({fileWriteStreaming: true});
	const reading = files.readStream('/a', {sandbox: SANDBOX, offset: 1}).getReader().read();
	const {params} = await server.answer('fs/readFile', {dataBase64: base64('abc')});
	expect([params['path'], Object.keys(params), await reading]).toMatchObject([
		'file:///a',
		['path', 'sandbox'],
		{done: false},
	]);
	const writer = files.writeStream('/a', {sandbox: SANDBOX}).getWriter();
	await writer.write(Buffer.from('x'));
	const closing = writer.close();
	expect(Object.keys((await server.answer('fs/writeFile', {})).params)).toEqual(['path', 'sandbox', 'dataBase64']);
	await closing;
});

test('Windows paths are taken as they are written', async () => {
	const {server, files} = await greeted();
	void files.metadata('C:\\Users\\a b').catch(() => {});
	expect((await server.asked('fs/getMetadata')).params).toEqual({path: 'file:///C:/Users/a%20b'});
});

test.each([
	['an empty block before the end', block(0, false)],
	['a block larger than was asked for', block(BLOCK_BYTES + 1, false)],
	['a block that is none', {chunk: 'not base64', eof: false}],
])('%s is invalid data, and the handle is closed', async (_what, result) => {
	const {server, files} = await greeted();
	const reading = files.readStream('/a').getReader().read();
	reading.catch(() => {});
	const {params} = await server.answer('fs/open', {handleId: 'h'});
	expect(params).toEqual({handleId: expect.stringMatching(/^[0-9a-f]{32}$/) as string, path: 'file:///a'});
	expect((await server.answer('fs/readBlock', result)).params).toEqual({
		handleId: params['handleId'],
		offset: 0,
		len: BLOCK_BYTES,
	});
	await expect(reading).rejects.toMatchObject({code: 'invalid-data', path: expect.any(String) as string});
	expect((await server.asked('fs/close')).params).toEqual({handleId: params['handleId']});
});

test('a short block that is not the last is followed by what comes behind it', async () => {
	const {server, files} = await greeted();
	const reader = files.readStream('/a').getReader();
	const lengths: number[] = [];
	const reading = (async () => {
		for (let next = await reader.read(); !next.done; next = await reader.read()) lengths.push(next.value.length);
	})();
	await server.answer('fs/open', {handleId: 'h'});
	const offsets: unknown[] = [];
	for (const result of [block(10, false), block(BLOCK_BYTES, false), block(20, false)]) {
		offsets.push((await server.answer('fs/readBlock', result)).params['offset']);
	}
	// Asked for before the short one had come, and at the wrong place.
	const stray = await server.answer('fs/readBlock', block(5, true));
	let next = await server.asked('fs/readBlock');
	while (next.params['offset'] !== 30 + BLOCK_BYTES) next = await server.asked('fs/readBlock');
	server.peer.send({id: next.id, result: block(0, true)});
	await reading;
	expect([offsets, stray.params['offset']]).toEqual([[0, 10, 10 + BLOCK_BYTES], 10 + 2 * BLOCK_BYTES]);
	expect(lengths).toEqual([10, BLOCK_BYTES, 20]);
});

test('of a stream that nobody reads on, only so many blocks are asked for', async () => {
	const {server, files} = await greeted();
	const reader = files.readStream('/a').getReader();
	let answered = 0;
	const reading = reader.read();
	await server.answer('fs/open', {handleId: 'h'});
	await server.answer('fs/readBlock', block(BLOCK_BYTES, false));
	await reading;
	const second = reader.read();
	for (; answered < 2; answered++) await server.answer('fs/readBlock', block(BLOCK_BYTES, false));
	await second;
	const third = reader.read();
	await third;
	// What is asked for by now is all there is until more is read.
	void files.canonicalize('/mark').catch(() => {});
	let asked = 0;
	for (let next = await server.peer.next(); next['method'] !== 'fs/canonicalize'; next = await server.peer.next())
		asked++;
	expect(asked).toBe(MAX_BLOCKS_UNDER_WAY);
});

test('what does not fit a message is refused before it is sent', async () => {
	const {server, files} = await greeted();
	const large = new Uint8Array(MAX_CONTENT_BYTES + 1);
	await expect(files.writeFile('/a', large)).rejects.toMatchObject({code: 'refused', message: /writeStream/});
	expect(server.peer.texts.length).toBe(2);
});

test('a file that an upstream server would send in too long a message is read in blocks', async () => {
	const {server, files} = await greeted({fileWriteStreaming: true});
	const reading = files.readFile('/a');
	const times = {createdAtMs: 0, modifiedAtMs: 0};
	const large = {isDirectory: false, isFile: true, isSymlink: false, size: MAX_CONTENT_BYTES + 1, ...times};
	await server.answer('fs/getMetadata', large);
	await server.answer('fs/getMetadata', {...large, size: 3});
	await server.answer('fs/open', {handleId: 'h'});
	await server.answer('fs/readBlock', {chunk: base64('abc'), eof: true});
	await server.asked('fs/close');
	expect(Buffer.from(await reading).toString()).toBe('abc');
});

test('a server that takes no blocks gets a streamed file in one piece', async () => {
	const {server, files} = await greeted();
	const writer = files.writeStream('/a').getWriter();
	await writer.write(Buffer.from('one '));
	await writer.write(Buffer.from('two'));
	const closing = writer.close();
	expect((await server.answer('fs/writeFile', {})).params).toEqual({path: 'file:///a', dataBase64: base64('one two')});
	await closing;
});

test('what does not fit a message is too much for a server that takes no blocks', async () => {
	const {server, files} = await greeted();
	const writer = files.writeStream('/a').getWriter();
	const piece = new Uint8Array(16 * 1024 * 1024);
	const writing = (async () => {
		for (let index = 0; index < 4; index++) await writer.write(piece);
		await writer.close();
	})();
	await expect(writing).rejects.toMatchObject({code: 'unsupported'});
	expect(server.peer.texts.length).toBe(2);
});

test('a write that fails is told to the next writer, and the handle is closed', async () => {
	const {server, files} = await greeted({fileWriteStreaming: true});
	const writer = files.writeStream('/a').getWriter();
	const first = writer.write(Buffer.from('x'));
	await server.answer('fs/open', {handleId: 'h'});
	const {id, params} = await server.asked('fs/writeBlock');
	expect(params).toMatchObject({offset: 0, chunk: base64('x')});
	await first;
	server.peer.send({id, error: {code: -32603, message: 'No space left on device (os error 28)'}});
	await expect(writer.close()).rejects.toMatchObject({code: 'failed', message: /No space/});
	await server.asked('fs/close');
});

test('changes that nobody takes become an overflow', async () => {
	const {server, files} = await greeted({fsWatch: true});
	const opening = files.watch('/a');
	const {params} = await server.answer('fs/watch', {});
	const watch = await opening;
	const changes = Array.from({length: MAX_WAITING_CHANGES}, (_, index) => ({
		path: `file:///a/${index}`,
		kind: 'created',
	}));
	const tell = (told: unknown[]) =>
		server.notify('fs/changed', {watchId: params['watchId'], changes: told, overflow: false, ended: null});
	tell(changes);
	tell([{path: 'file:///a/more', kind: 'created'}]);
	tell([{path: 'file:///a/later', kind: 'removed'}]);
	void files.canonicalize('/mark').catch(() => {});
	await server.answer('fs/canonicalize', {path: 'file:///mark'});
	expect([await watch.next(), await watch.next()]).toEqual([
		{done: false, value: {changes: [], overflow: true}},
		{done: false, value: {changes: [{path: 'file:///a/later', kind: 'removed'}], overflow: false}},
	]);
	await watch.return!();
	expect((await server.asked('fs/unwatch')).params).toEqual({watchId: params['watchId']});
});

test.each([
	[-32004, 'not-found'],
	[-32600, 'refused'],
	[-32601, 'unsupported'],
	[-32603, 'failed'],
	[INVALID_PARAMS, 'failed'],
])('an error of the server with the number %i is %s', async (number, code) => {
	const {server, files} = await greeted();
	const reading = files.readFile('/a').catch((error: unknown) => error);
	const {id} = await server.asked('fs/readFile');
	server.peer.send({id, error: {code: number, message: 'its words'}});
	expect(await reading).toMatchObject({
		code,
		detail: 'its words',
		message: '/a: its words',
		path: '/a',
		cause: {code: number},
	});
});
