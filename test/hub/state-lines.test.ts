// covers: src/hub/store, src/hub/registry
import {appendFileSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {MAX_REGISTRATION_BYTES_PER_TOKEN, RegistryService} from '../../src/hub/registry/registry-service.js';
import {FileStore} from '../../src/hub/store/file-store.js';
import {HubTokens} from '../../src/hub/store/hub-tokens.js';
import {MemoryGrants} from '../../src/hub/store/memory-grants.js';
import {type BadLine, MAX_LINE_RECORD_BYTES} from '../../src/hub/store/record-file.js';
import {run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';

const KEY = {suite: 'suite', x25519_public_key: 'one', mlkem768_public_key: 'two'};
const CONCURRENT = 8;

test('tokens that are created and revoked by several commands at once are all recorded', async () => {
	const directory = scratchDirectory();
	const token = (...args: string[]): Promise<{stdout: string; code: number | null}> =>
		run(['hub', 'token', ...args, '--data', directory], {});
	const names = Array.from({length: CONCURRENT}, (_, index) => `machine-${index}`);
	await Promise.all(names.map(name => token('create', 'executor', name)));
	const tokens = new HubTokens(directory);
	expect(
		tokens
			.list()
			.map(({pattern}) => pattern)
			.sort(),
	).toEqual(names);
	await Promise.all(tokens.list().map(({id}) => token('revoke', id)));
	expect(tokens.list()).toEqual([]);
	for (const line of readFileSync(join(directory, 'tokens.jsonl'), 'utf8').trim().split('\n')) JSON.parse(line);
});

test('a damaged line of the tokens is skipped and named, and all other tokens stay valid', () => {
	const directory = scratchDirectory();
	const {token: first} = new HubTokens(directory).create('client', 'a');
	const path = join(directory, 'tokens.jsonl');
	appendFileSync(path, '{"id":"torn\n{"neither":1}\n{"id":"cut');
	const bad: BadLine[] = [];
	const tokens = new HubTokens(directory, line => bad.push(line));
	const {token: second} = tokens.create('client', 'b');
	expect([tokens.find(first, 'client')?.pattern, tokens.find(second, 'client')?.pattern]).toEqual(['a', 'b']);
	expect(new Set(bad.map(({line}) => line))).toEqual(new Set([2, 3, 4]));
	expect(bad[0]).toMatchObject({path});
});

test('a hub starts with whatever is in its file of registrations', async () => {
	const directory = scratchDirectory();
	const place = {tenant: 'default', environmentId: 'devbox'};
	const store = new FileStore(directory);
	await store.putRegistration({...place, registrationId: '1', key: KEY, displaced: []}, undefined);
	await store.close();
	appendFileSync(
		join(directory, 'registrations.jsonl'),
		`"${'x'.repeat(2 * MAX_LINE_RECORD_BYTES)}"\n{}\nnothing\n{"cut`,
	);
	const bad: BadLine[] = [];
	const again = new FileStore(directory, line => bad.push(line));
	expect(bad.map(({line}) => line)).toEqual([2, 3, 4]);
	const found = await again.findRegistration(place);
	expect(found?.registration.registrationId).toBe('1');
	await again.putRegistration({...place, registrationId: '2', key: KEY, displaced: []}, found?.revision);
	await again.close();
	const last = new FileStore(directory);
	expect((await last.findRegistration(place))?.registration.registrationId).toBe('2');
	await last.close();
});

function serviceOf(store: FileStore): RegistryService {
	return new RegistryService({store, grants: new MemoryGrants(), isOnline: async () => false});
}

test('the bytes that one token registers are bounded, and those that it replaces are not counted', async () => {
	const store = new FileStore(scratchDirectory());
	const service = serviceOf(store);
	const half = MAX_REGISTRATION_BYTES_PER_TOKEN / 2 - 1024;
	const admit = (environmentId: string, tokenId: string, length = half): Promise<boolean> =>
		service.admitEnvironment({tenant: 'default', environmentId, key: KEY, labels: {name: 'x'.repeat(length)}}, tokenId);
	expect([await admit('a', 'one'), await admit('b', 'one'), await admit('c', 'one')]).toEqual([true, true, false]);
	expect([await admit('b', 'one'), await admit('c', 'other')]).toEqual([true, true]);
	expect([await admit('b', 'one', 1), await admit('d', 'one')]).toEqual([true, true]);
	await store.close();
});

test('the bytes of a token are counted over restarts, and a machine that is known is never refused for them', async () => {
	const directory = scratchDirectory();
	const store = new FileStore(directory);
	const place = {tenant: 'default', environmentId: 'devbox'};
	const labels = {name: 'x'.repeat(MAX_LINE_RECORD_BYTES / 2)};
	const record = {...place, registrationId: '1', key: KEY, displaced: [], labels, tokenId: 'one'};
	const count = MAX_REGISTRATION_BYTES_PER_TOKEN / (MAX_LINE_RECORD_BYTES / 2);
	for (let index = 0; index < count; index++) {
		await store.putRegistration({...record, environmentId: `machine-${index}`}, undefined);
	}
	await store.close();
	const again = new FileStore(directory);
	const service = serviceOf(again);
	const requested = {...place, key: KEY};
	expect(await service.admitEnvironment(requested, 'one')).toBe(false);
	expect(await service.admitEnvironment({...record, environmentId: 'machine-0'}, 'one')).toBe(true);
	expect(await service.admitEnvironment({...requested, labels: {...labels, more: 'x'}}, 'one')).toBe(false);
	expect(await service.admitEnvironment(requested, 'other')).toBe(true);
	await again.close();
});
