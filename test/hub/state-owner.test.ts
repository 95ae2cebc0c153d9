// covers: src/processes/spill/own-directory.ts, src/hub/store, src/hub/nats/nats-directory.ts
import {chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {openNatsDirectory} from '../../src/hub/nats/nats-directory.js';
import {EmbeddedBackend} from '../../src/hub/store/embedded-backend.js';
import {HubTokens} from '../../src/hub/store/hub-tokens.js';
import {requireOwnDirectory} from '../../src/processes/spill/own-directory.js';
import {silentLogger} from '../../src/shared/logger.js';
import {loadNoiseKeys} from '../../src/transports/node/relay/key-file.js';
import {run} from '../helpers/command.js';
import {needsRoot} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

const NOBODY = 65_534;

/** Why a hub refuses a directory: one with its state in files, and one with its state in NATS. */
async function refusals(directory: string): Promise<readonly string[]> {
	const open = (): EmbeddedBackend => new EmbeddedBackend(directory);
	const openNats = (): Promise<unknown> =>
		openNatsDirectory({directory, servers: ['auto'], name: 'test', logger: silentLogger});
	return Promise.all(
		[async () => open(), openNats].map(each =>
			each().then(
				() => 'none',
				(error: Error) => error.message,
			),
		),
	);
}

test('a hub refuses a directory of another user', needsRoot(), async () => {
	const directory = join(scratchDirectory(), 'hub');
	mkdirSync(directory);
	chownSync(directory, NOBODY, NOBODY);
	for (const reason of await refusals(directory)) expect(reason).toContain('it belongs to another user');
	const {code, stderr} = await run(['hub', '--listen', 'http://127.0.0.1:0', '--data', directory]);
	expect([code, stderr]).toMatchObject([1, expect.stringContaining('it belongs to another user')]);
});

test('a hub refuses a directory that others can write to or replace, and a link', async () => {
	const directory = join(scratchDirectory(), 'hub');
	mkdirSync(directory);
	chmodSync(directory, 0o777);
	for (const reason of await refusals(directory)) expect(reason).toContain('it is writable by others');
	chmodSync(directory, 0o700);
	const link = join(scratchDirectory(), 'link');
	symlinkSync(directory, link);
	for (const reason of await refusals(link)) expect(reason).toContain('or a link to one');
	chmodSync(join(directory, '..'), 0o777);
	for (const reason of await refusals(directory)) expect(reason).toContain('its directory is writable by others');
	chmodSync(join(directory, '..'), 0o700);
});

test.each(['tokens.jsonl', 'registrations.jsonl'])('a hub refuses a file %s that others can write to', async name => {
	const directory = scratchDirectory();
	new HubTokens(directory).create('client', '*');
	await new EmbeddedBackend(directory).close();
	const path = join(directory, name);
	chmodSync(path, 0o666);
	const use = (): unknown => new EmbeddedBackend(directory).tokens.list();
	expect(use).toThrow(/try chmod/);
});

test.each(['create', 'revoke', 'list'])('hub token %s refuses a directory that others can write to', async action => {
	const directory = join(scratchDirectory(), 'hub');
	mkdirSync(directory);
	chmodSync(directory, 0o777);
	const args = {create: ['client', '*'], revoke: ['00000000'], list: []}[action]!;
	const {code, stderr} = await run(['hub', 'token', action, ...args, '--data', directory]);
	expect([code, stderr]).toMatchObject([1, expect.stringContaining('it is writable by others')]);
});

test('commands about a hub refuse a directory of another user, unless root looks after it', needsRoot(), async () => {
	const directory = join(scratchDirectory(), 'hub');
	mkdirSync(directory);
	chownSync(directory, NOBODY, NOBODY);
	requireOwnDirectory(directory);
	const user = vi.spyOn(process as Required<typeof process>, 'geteuid').mockReturnValue(NOBODY - 1);
	onTestFinished(() => user.mockRestore());
	expect(() => requireOwnDirectory(directory)).toThrow('it belongs to another user');
});

test('the secret of the tickets is the same after a restart, replaced if it is damaged, and refused if others can read it', async () => {
	const directory = scratchDirectory();
	const open = async (): Promise<string> => {
		const backend = new EmbeddedBackend(directory);
		await backend.close();
		return Buffer.from(backend.store.ticketSecret).toString('hex');
	};
	const secret = await open();
	expect(await open()).toBe(secret);
	const path = join(directory, 'ticket-secret');
	expect(statSync(path).mode & 0o777).toBe(0o600);
	writeFileSync(path, secret.slice(2));
	const next = await open();
	expect([next.length, next === secret]).toEqual([secret.length, false]);
	chmodSync(path, 0o644);
	await expect(open()).rejects.toThrow('it is open to others');
});

test('a key file of another user is refused', needsRoot(), () => {
	const path = join(scratchDirectory(), 'key.json');
	loadNoiseKeys(path);
	chownSync(path, NOBODY, NOBODY);
	expect(() => loadNoiseKeys(path)).toThrow('it belongs to another user');
});
