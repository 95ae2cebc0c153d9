import fs from 'node:fs';
import {expect, test} from 'vitest';
import {MAX_PENDING_REPLY_BYTES, MAX_PENDING_REQUEST_BYTES} from '../../src/server/connection/flow-control.js';
import {disconnect} from '../helpers/disconnect.js';
import {base64, bytes, servingFiles} from '../helpers/files.js';
import {refusal} from '../helpers/process-api.js';
import {countOpenDescriptors, eventually} from '../helpers/processes.js';

const MiB = 1024 * 1024;

test('a missing path is -32004, what is not permitted or makes no sense -32600, the rest -32603', async () => {
	const {client, at, path} = await servingFiles();
	fs.writeFileSync(at('file'), 'x');
	fs.mkdirSync(at('dir/sub'), {recursive: true});
	const cases: [string, object, number, string][] = [
		['fs/readFile', path('none'), -32004, 'No such file or directory (os error 2)'],
		['fs/readFile', path('dir'), -32600, `path \`${at('dir')}\` is not a file`],
		['fs/readFile', {path: 'file:///C:/x'}, -32600, `'file:///C:/x' is invalid on 'linux'`],
		['fs/readDirectory', path('file'), -32603, 'Not a directory (os error 20)'],
		[
			'fs/writeFile',
			{...path('file'), dataBase64: '*'},
			-32600,
			'fs/writeFile requires valid base64 dataBase64: Invalid symbol 42, offset 0.',
		],
		['fs/writeFile', {...path('dir'), dataBase64: ''}, -32603, 'Is a directory (os error 21)'],
		['fs/createDirectory', {...path('file')}, -32603, 'File exists (os error 17)'],
		['fs/remove', {...path('dir'), recursive: false}, -32603, 'Directory not empty (os error 39)'],
		['fs/remove', {...path('dir'), followSymlinks: false}, -32603, 'recursive no-follow removal is unsupported'],
		['fs/canonicalize', path('none'), -32004, 'No such file or directory (os error 2)'],
		[
			'fs/createDirectory',
			{path: 'file:///', recursive: false, followSymlinks: false},
			-32603,
			'directory already exists',
		],
	];
	for (const [method, params, code, message] of cases) {
		expect([method, await refusal(client.call(method, params))]).toEqual([method, {code, message}]);
	}
});

const sandbox = (permissions: object) => ({permissions, windowsSandboxLevel: 'disabled'});
const restricted = (access: string) => {
	const entries = [{path: {type: 'special', value: {kind: 'root'}}, access}];
	return sandbox({type: 'managed', file_system: {type: 'restricted', entries}, network: 'restricted'});
};

test('a sandbox that cannot be had is refused, one that restricts nothing is not', async () => {
	const {client, at, path} = await servingFiles();
	fs.writeFileSync(at('file'), 'x');
	const read = (context: object) => client.call('fs/readFile', {...path('file'), sandbox: context});
	expect(await refusal(read(restricted('read')))).toMatchObject({
		code: -32600,
		message: 'sandboxed filesystem operations require configured runtime paths',
	});
	for (const context of [
		restricted('write'),
		sandbox({type: 'disabled'}),
		sandbox({type: 'external', network: 'enabled'}),
	]) {
		expect(await read(context)).toEqual({dataBase64: 'eA=='});
	}
});

test('a file that fits into no message is refused with the way to read it', async () => {
	const {client, at, path} = await servingFiles();
	fs.writeFileSync(at('large'), '');
	fs.truncateSync(at('large'), 49 * MiB);
	expect(await refusal(client.call('fs/readFile', path('large')))).toMatchObject({
		code: -32600,
		message: /in blocks \(fs\/open\)$/,
	});
	fs.truncateSync(at('large'), 47 * MiB);
	expect(bytes((await client.call<{dataBase64: string}>('fs/readFile', path('large'))).dataBase64)).toHaveLength(
		47 * MiB,
	);
});

test('a server that may send more than stock clients take sends larger files', async () => {
	const {client, at, path} = await servingFiles({maxReplyBytes: 80 * MiB});
	fs.writeFileSync(at('large'), Buffer.alloc(49 * MiB, 'longarm'));
	const {dataBase64} = await client.call<{dataBase64: Uint8Array}>('fs/readFile', path('large'));
	expect(fs.readFileSync(at('large')).equals(dataBase64)).toBe(true);
	fs.truncateSync(at('large'), 61 * MiB);
	expect(await refusal(client.call('fs/readFile', path('large')))).toMatchObject({code: -32600});
});

test('blocks that are asked for all at once are read as the client takes them', async () => {
	const {client, end, socket, at, path} = await servingFiles();
	const content = Buffer.alloc(64 * MiB, 'longarm');
	fs.writeFileSync(at('file'), content);
	await client.call('fs/open', {handleId: 'h', ...path('file')});
	socket.pause();
	const blocks = Array.from({length: 64}, (_, index) =>
		client.call<{chunk: string}>('fs/readBlock', {handleId: 'h', offset: index * MiB, len: MiB}),
	);
	await eventually(() => end.rpc.backlog > MAX_PENDING_REPLY_BYTES / 2);
	expect(end.rpc.backlog).toBeLessThan(2 * MAX_PENDING_REPLY_BYTES);
	socket.resume();
	const got = Buffer.concat((await Promise.all(blocks)).map(({chunk}) => bytes(chunk)));
	expect(got.equals(content)).toBe(true);
});

test('blocks are written at their place, in whatever order they come', async () => {
	const {client, at, path} = await servingFiles();
	await client.call('fs/open', {handleId: 'w', ...path('file'), mode: 'replace'});
	const write = (offset: number, text: string) =>
		client.call('fs/writeBlock', {handleId: 'w', offset, chunk: base64(text)});
	await Promise.all([write(6, 'world'), write(0, 'hello'), write(20, '!')]);
	await client.call('fs/close', {handleId: 'w'});
	expect(fs.readFileSync(at('file'), 'latin1')).toBe(`hello\0world${'\0'.repeat(9)}!`);
	await client.call('fs/open', {handleId: 'w', ...path('file'), mode: 'replace'});
	expect(await refusal(write(2 ** 53, 'x'))).toMatchObject({code: -32603, message: 'File too large (os error 27)'});
});

test('a client that sends faster than the disk writes is not read from meanwhile, and nothing is lost', async () => {
	const {client, at, path} = await servingFiles();
	const content = Buffer.alloc((3 * MAX_PENDING_REQUEST_BYTES) / 4, 'x');
	const writes = Array.from({length: 6}, (_, index) =>
		client.call('fs/writeFile', {...path(`file${index}`), dataBase64: base64(content)}),
	);
	expect(await Promise.all(writes)).toEqual(writes.map(() => ({})));
	for (let index = 0; index < 6; index++) expect(fs.statSync(at(`file${index}`)).size).toBe(content.length);
});

test('a handle that is closed while it is read still reads its own file', async () => {
	const {client, at, path} = await servingFiles();
	for (const name of ['one', 'two']) fs.writeFileSync(at(name), Buffer.alloc(MiB, name));
	for (let round = 0; round < 50; round++) {
		await client.call('fs/open', {handleId: 'h', ...path('one')});
		const reads = Array.from({length: 4}, () =>
			client.call<{chunk: string}>('fs/readBlock', {handleId: 'h', offset: 0, len: MiB}),
		);
		const closed = client.call('fs/close', {handleId: 'h'});
		// Were the number of the descriptor free already, this would get it.
		await client.call('fs/open', {handleId: 'other', ...path('two')});
		const settled = await Promise.allSettled(reads);
		const got = settled.flatMap(read => (read.status === 'fulfilled' ? [bytes(read.value.chunk)] : []));
		expect(got.filter(block => block.subarray(0, 3).toString() !== 'one')).toEqual([]);
		await closed;
		await client.call('fs/close', {handleId: 'other'});
	}
});

test('everything a connection has open is closed with it', async () => {
	const {client, end, at, path} = await servingFiles();
	fs.writeFileSync(at('file'), 'x');
	const before = countOpenDescriptors();
	for (let handle = 0; handle < 100; handle++) await client.call('fs/open', {handleId: `h${handle}`, ...path('file')});
	expect(countOpenDescriptors()).toBe(before + 100);
	await disconnect({client, end});
	expect(await eventually(() => countOpenDescriptors() <= before)).toBe(true);
});
