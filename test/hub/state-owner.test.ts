// covers: src/processes/spill/own-directory.ts, src/hub/store, src/hub/nats/nats-directory.ts
import {chmodSync, chownSync, mkdirSync, symlinkSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {openNatsDirectory} from '../../src/hub/nats/nats-directory.js';
import {EmbeddedBackend} from '../../src/hub/store/embedded-backend.js';
import {HubTokens} from '../../src/hub/store/hub-tokens.js';
import {silentLogger} from '../../src/shared/logger.js';
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
