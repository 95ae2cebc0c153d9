import fs from 'node:fs';
import {expect, test} from 'vitest';
import {type FileServing, servingFiles, uri} from '../helpers/files.js';
import {refusal} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';

const told = ({client}: FileServing, method: string) =>
	client.events.filter(event => event.method === method).map(({params}) => params as Record<string, unknown>);

async function fires(files: FileServing, watchId: number): Promise<void> {
	await eventually(() => told(files, 'fs/missingChanged').some(params => params['watchId'] === watchId));
}

test.each<[string, (at: FileServing['at']) => void]>([
	['the path', at => fs.writeFileSync(at('dir/file'), '')],
	['the path as a directory', at => fs.mkdirSync(at('dir/file'))],
	['a link to something', at => fs.symlinkSync('/', at('dir/file'))],
	['a missing directory above a path', at => fs.mkdirSync(at('dir/deep'))],
	[
		'the path, in a directory that replaces another,',
		at => {
			fs.mkdirSync(at('new'));
			fs.writeFileSync(at('new/file'), '');
			fs.renameSync(at('dir'), at('old'));
			fs.renameSync(at('new'), at('dir'));
		},
	],
])('when %s appears, that is told once', async (_what, appear) => {
	const files = await servingFiles();
	const {client, at, path} = files;
	fs.mkdirSync(at('dir'));
	const missing = [path('dir/file').path, path('dir/deep/er').path];
	expect(await client.call('fs/watchMissing', {watchId: 1, missing})).toEqual({watching: true});
	fs.writeFileSync(at('dir/unrelated'), '');
	appear(at);
	await fires(files, 1);
	fs.rmSync(at('dir'), {recursive: true});
	expect(await client.call('fs/watchMissing', {watchId: 2, missing: [path('later').path]})).toEqual({watching: true});
	fs.writeFileSync(at('later'), '');
	await fires(files, 2);
	expect(told(files, 'fs/missingChanged')).toEqual([{watchId: 1}, {watchId: 2}]);
});

test.each<[string, (at: FileServing['at']) => void]>([
	['modified', at => fs.writeFileSync(at('present'), 'other')],
	['removed', at => fs.rmSync(at('present'))],
	['replaced', at => fs.renameSync(at('spare'), at('present'))],
])('when what has to be present is %s, that is told', async (_what, change) => {
	const files = await servingFiles();
	const {client, at, path} = files;
	for (const name of ['present', 'spare']) fs.writeFileSync(at(name), 'x');
	const watch = {watchId: 5, missing: [path('none').path], present: path('present').path};
	expect(await client.call('fs/watchMissing', watch)).toEqual({watching: true});
	change(at);
	await fires(files, 5);
});

test('an entry that is added to a present directory is not told', async () => {
	const files = await servingFiles();
	const {client, at, path} = files;
	fs.mkdirSync(at('dir'));
	const watch = {watchId: 1, missing: [path('none').path], present: path('dir').path};
	expect(await client.call('fs/watchMissing', watch)).toEqual({watching: true});
	fs.writeFileSync(at('dir/new'), '');
	fs.writeFileSync(at('none'), '');
	await fires(files, 1);
	expect(told(files, 'fs/missingChanged')).toHaveLength(1);
});

test('no watch is begun for what exists, for nothing, for what is not present or for an old id', async () => {
	const {client, at, path} = await servingFiles();
	fs.writeFileSync(at('here'), '');
	const missing = [path('none').path];
	const watching = async (watch: object) => (await client.call<{watching: boolean}>('fs/watchMissing', watch)).watching;
	expect(await watching({watchId: 1, missing: []})).toBe(false);
	expect(await watching({watchId: 2, missing: [path('here').path]})).toBe(false);
	expect(await watching({watchId: 3, missing, present: path('absent').path})).toBe(false);
	expect(await watching({watchId: 10, missing})).toBe(true);
	expect(await watching({watchId: 10, missing})).toBe(false);
	expect(await watching({watchId: 9, missing})).toBe(false);
	expect(await watching({watchId: 11, missing})).toBe(true);
});

test('a new watch replaces the one before', async () => {
	const files = await servingFiles();
	const {client, at, path} = files;
	for (const [watchId, name] of [
		[1, 'first'],
		[2, 'second'],
	] as const) {
		await client.call('fs/watchMissing', {watchId, missing: [path(name).path]});
	}
	fs.writeFileSync(at('first'), '');
	fs.writeFileSync(at('second'), '');
	await fires(files, 2);
	expect(told(files, 'fs/missingChanged')).toEqual([{watchId: 2}]);
});

test('changes below a path are told until the watch is ended', async () => {
	const files = await servingFiles();
	const {client, at, path} = files;
	fs.mkdirSync(at('dir'));
	await client.call('fs/watch', {watchId: 'w', ...path('dir')});
	fs.writeFileSync(at('dir/é'), '');
	await eventually(() => told(files, 'fs/changed').length > 0);
	expect(told(files, 'fs/changed')[0]).toEqual({
		watchId: 'w',
		changes: [{path: uri(at('dir/é')), kind: 'created'}],
		overflow: false,
		ended: null,
	});
	await client.call('fs/unwatch', {watchId: 'w'});
	await client.call('fs/watch', {watchId: 'other', ...path('dir')});
	fs.writeFileSync(at('dir/more'), '');
	await eventually(() => told(files, 'fs/changed').some(({watchId}) => watchId === 'other'));
	expect(told(files, 'fs/changed').filter(({watchId}) => watchId === 'w')).toHaveLength(1);
});

test('a watch is of the whole tree unless told otherwise', async () => {
	const files = await servingFiles();
	const {client, at, path} = files;
	fs.mkdirSync(at('dir/sub'), {recursive: true});
	await client.call('fs/watch', {watchId: 'flat', ...path('dir'), recursive: false});
	await client.call('fs/watch', {watchId: 'tree', ...path('dir')});
	fs.writeFileSync(at('dir/sub/deep'), '');
	const changesOf = (watch: string) =>
		told(files, 'fs/changed')
			.filter(({watchId}) => watchId === watch)
			.flatMap(({changes}) => (changes as {path: string}[]).map(change => change.path));
	await eventually(() => changesOf('tree').includes(uri(at('dir/sub/deep'))));
	fs.writeFileSync(at('dir/last'), '');
	await eventually(() => changesOf('flat').includes(uri(at('dir/last'))));
	expect(changesOf('flat')).not.toContain(uri(at('dir/sub/deep')));
});

test('a client that does not read finds the changes merged, or an overflow, never a flood', async () => {
	const files = await servingFiles();
	const {client, end, socket, at, path} = files;
	fs.mkdirSync(at('dir'));
	await client.call('fs/watch', {watchId: 'w', ...path('dir')});
	socket.pause();
	// Fills what the connection may hold, so that the door is closed when the changes come.
	fs.writeFileSync(at('large'), Buffer.alloc(8 * 1024 * 1024));
	const large = client.call('fs/readFile', path('large'));
	await eventually(() => !end.flow.canSend);
	for (let file = 0; file < 20_000; file++) fs.writeFileSync(at('dir', String(file)), '');
	fs.writeFileSync(at('dir/0'), 'changed');
	socket.resume();
	await large;
	expect(await eventually(() => told(files, 'fs/changed').some(({overflow}) => overflow))).toBe(true);
});

test('a watch of a removed directory ends by itself and its id is free again', async () => {
	const files = await servingFiles();
	const {client, at, path} = files;
	fs.mkdirSync(at('dir'));
	await client.call('fs/watch', {watchId: 'w', ...path('dir')});
	fs.rmdirSync(at('dir'));
	await eventually(() => told(files, 'fs/changed').some(({ended}) => ended === 'the watched directory is gone'));
	expect(await client.call('fs/watch', {watchId: 'w', ...path()})).toEqual({});
});

test('a watch of nothing, an id in use and a bad rule are refused', async () => {
	const {client, path} = await servingFiles();
	const watch = (more: object) => refusal(client.call('fs/watch', {watchId: 'w', ...path(), ...more}));
	expect(await watch(path('none'))).toMatchObject({code: -32004});
	expect(await watch({watchId: 'x'.repeat(65)})).toMatchObject({code: -32600});
	expect(await watch({})).toEqual({accepted: {}});
	expect(await watch({})).toMatchObject({code: -32600, message: 'watch `w` already exists'});
	expect(await client.call('fs/unwatch', {watchId: 'never'})).toEqual({});
});
