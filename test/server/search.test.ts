import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {disconnect} from '../helpers/disconnect.js';
import {uri} from '../helpers/files.js';
import {refusal} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {join as joinServer, serving} from '../helpers/serving.js';
import type {TestClient} from '../helpers/test-client.js';

interface Match {
	readonly path: string;
	readonly kind: string;
	readonly line?: number;
}

function matchesOf(client: TestClient, searchId: string): Match[] {
	const params = client.events.filter(({method}) => method === 'fs/searchMatches').map(event => event.params);
	return params.filter(each => each['searchId'] === searchId).flatMap(each => each['matches'] as Match[]);
}

test('what is found is told before the search is answered', async () => {
	const {client} = await joinServer(await serving());
	const root = scratchDirectory();
	for (let number = 0; number < 1000; number++) writeFileSync(join(root, `file${number}`), 'a needle\nnone\nneedle');
	const search = {searchId: 's', path: uri(root), contents: {pattern: 'needle'}};
	const outcome = await client.call('fs/search', search);
	expect(outcome).toEqual({files: 1000, matches: 2000, truncated: false, cancelled: false, errors: []});
	const matches = matchesOf(client, 's');
	expect(matches).toHaveLength(2000);
	expect(matches[0]).toEqual({
		path: uri(join(root, 'file0')),
		kind: 'file',
		line: 1,
		column: 3,
		byteOffset: 2,
		text: 'a needle',
	});
});

test('no more is told than was asked for, and that there is more', async () => {
	const {client} = await joinServer(await serving());
	const root = scratchDirectory();
	for (let number = 0; number < 10; number++) mkdirSync(join(root, `d${number}`));
	const outcome = await client.call('fs/search', {searchId: 's', path: uri(root), maxMatches: 3});
	expect(outcome).toMatchObject({matches: 3, truncated: true});
	expect(matchesOf(client, 's').map(({kind}) => kind)).toEqual(['directory', 'directory', 'directory']);
});

test('an expression that would take for ever is cancelled, and the server answers meanwhile', async () => {
	const {client} = await joinServer(await serving());
	const root = scratchDirectory();
	writeFileSync(join(root, 'evil'), `${'a'.repeat(60)}!\n`);
	const contents = {pattern: '(a+)+$', regex: true};
	const search = client.call('fs/search', {searchId: 's', path: uri(root), contents});
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	await client.call('fs/searchCancel', {searchId: 's'});
	expect(await search).toMatchObject({matches: 0, truncated: true, cancelled: true});
	expect(await client.call('fs/search', {searchId: 's', path: uri(root), names: ['evil']})).toMatchObject({matches: 1});
});

test('a connection whose searches never end delays no other, whose single search runs at once', async () => {
	const serving_ = await serving();
	const [first, second] = [await joinServer(serving_), await joinServer(serving_)];
	const root = scratchDirectory();
	writeFileSync(join(root, 'evil'), `${'a'.repeat(60)}!\n`);
	const contents = {pattern: '(a+)+$', regex: true};
	const stuck = Array.from({length: 16}, (_, index) =>
		first.client.call('fs/search', {searchId: `s${index}`, path: uri(root), contents}),
	);
	for (const each of stuck) each.catch(() => {});
	expect(await first.client.call('environment/status')).toEqual({status: 'ready'});
	expect(await second.client.call('fs/search', {searchId: 's', path: uri(root)})).toMatchObject({matches: 1});
	await disconnect(first);
});

test('searches beyond those that run wait for their turn, and end with the connection', async () => {
	const serving_ = await serving();
	const [first, second] = [await joinServer(serving_), await joinServer(serving_)];
	const root = scratchDirectory();
	writeFileSync(join(root, 'evil'), `${'a'.repeat(60)}!\n`);
	const contents = {pattern: '(a+)+$', regex: true};
	const stuck = ['a', 'b', 'c'].map(searchId => first.client.call('fs/search', {searchId, path: uri(root), contents}));
	for (const each of stuck) each.catch(() => {});
	const waiting = second.client.call('fs/search', {searchId: 's', path: uri(root)});
	await disconnect(first);
	expect(await waiting).toMatchObject({matches: 1, cancelled: false});
});

test('a search that nobody reads holds back instead of filling the memory', async () => {
	const joined = await joinServer(await serving());
	const {client, end, socket} = joined;
	const root = scratchDirectory();
	writeFileSync(join(root, 'many'), `${'x'.repeat(900)}\n`.repeat(40_000));
	socket.pause();
	const search = client.call('fs/search', {
		searchId: 's',
		path: uri(root),
		contents: {pattern: 'x'},
		maxMatches: 50_000,
	});
	await eventually(() => end.rpc.backlog > 0 && !end.flow.canSend);
	// One batch was let through and the next found the door closed: the rest waits in the thread.
	expect(end.rpc.backlog).toBeLessThan(2 * 1024 * 1024);
	socket.resume();
	expect(await search).toMatchObject({matches: 40_000, truncated: false});
	expect(matchesOf(client, 's')).toHaveLength(40_000);
});

test('patterns that cannot be used, missing roots and ids in use are refused', async () => {
	const {client} = await joinServer(await serving());
	const root = scratchDirectory();
	const search = (more: object) => refusal(client.call('fs/search', {searchId: 's', path: uri(root), ...more}));
	expect(await search({contents: {pattern: '(', regex: true}})).toMatchObject({code: -32602});
	expect(await search({path: uri(join(root, 'none'))})).toMatchObject({code: -32004});
	expect(await search({searchId: 'x'.repeat(65)})).toMatchObject({code: -32600});
	writeFileSync(join(root, 'evil'), `${'a'.repeat(60)}!\n`);
	const stuck = client.call('fs/search', {searchId: 's', path: uri(root), contents: {pattern: '(a+)+$', regex: true}});
	expect(await search({})).toMatchObject({code: -32600, message: 'search `s` already exists'});
	await client.call('fs/searchCancel', {searchId: 's'});
	await stuck;
	expect(await client.call('fs/searchCancel', {searchId: 'never'})).toEqual({});
});
