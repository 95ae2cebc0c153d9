import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {inspect} from 'node:util';
import {expect, onTestFinished, test} from 'vitest';
import {defaultProvider} from '../../src/environments/config/default-provider.js';
import {EnvironmentManager} from '../../src/environments/environment-manager.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {sh} from '../helpers/start-params.js';

async function loaded(variables: Record<string, string>, home = scratchDirectory()): Promise<EnvironmentManager> {
	const manager = await EnvironmentManager.load({variables, home});
	onTestFinished(() => manager.close());
	return manager;
}

test('without a word there is this machine and nothing else', async () => {
	const manager = await loaded({});
	expect([manager.ids, manager.default?.id, manager.local?.kind]).toEqual([['local'], 'local', 'local']);
	expect(await manager.status('local')).toEqual({kind: 'ready'});
	expect(await manager.status('other')).toBeUndefined();
	expect(() => manager.require('other')).toThrow('unknown environment `other`; known are local');
});

test.each(['none', ' NONE '])('an address of %j means that there is nothing at all', async address => {
	const manager = await loaded({CODEX_EXEC_SERVER_URL: address});
	expect([manager.ids, manager.default, manager.local]).toEqual([[], undefined, undefined]);
	expect(() => manager.require('local')).toThrow('unknown environment `local`; there are none');
});

test.each(['LONGARM_EXEC_SERVER_URL', 'CODEX_EXEC_SERVER_URL'])(
	'an address in %s is the default, and this machine is not there',
	async name => {
		const {url} = await serving();
		const manager = await loaded({[name]: ` ${url} `});
		expect([manager.ids, manager.local]).toEqual([['remote'], undefined]);
		const {process} = await manager.default!.processes.start(sh('p', 'exit 6'));
		expect(await process.exited).toMatchObject({exitCode: 6});
		expect(await manager.status('remote')).toEqual({kind: 'ready'});
	},
);

test('our own variable wins over the peer\u2019s, and an empty one says nothing', async () => {
	const manager = await loaded({LONGARM_EXEC_SERVER_URL: 'none', CODEX_EXEC_SERVER_URL: 'ws://127.0.0.1:1'});
	expect(manager.default).toBeUndefined();
	const other = await loaded({LONGARM_EXEC_SERVER_URL: '', CODEX_EXEC_SERVER_URL: 'none'});
	expect(other.default).toBeUndefined();
});

test('the file wins over the variables, and its default comes first', async () => {
	const home = scratchDirectory();
	const lines = [
		'default = "b"',
		'[[environments]]',
		'id = "a"',
		'program = "true"',
		'[[environments]]',
		'id = "b"',
		'program = "true"',
	];
	writeFileSync(join(home, 'environments.toml'), lines.join('\n'));
	const manager = await loaded({LONGARM_EXEC_SERVER_URL: 'none'}, home);
	expect([manager.ids, manager.default?.id]).toEqual([['b', 'local', 'a'], 'b']);
	// Commands are started when they are needed, not before.
	expect(await manager.status('a')).toEqual({kind: 'pending'});
});

test('the variables of a registry count before everything else, and only together', async () => {
	const variables = {
		CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: 'https://registry.example/base/',
		CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: 'devbox',
		CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: 'secret',
		CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID: 'acct',
		LONGARM_EXEC_SERVER_URL: 'ws://127.0.0.1:1',
	};
	const snapshot = await defaultProvider({variables, home: '/nonexistent'}).snapshot();
	const target = {
		kind: 'registry',
		url: 'registry+https://registry.example/base/devbox',
		token: 'secret',
		accountId: 'acct',
		executorKey: 'any',
	};
	expect(snapshot).toEqual({defaultId: 'remote', includesLocal: false, remotes: new Map([['remote', target]])});
	const {CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: _, ...incomplete} = variables;
	await expect(loaded(incomplete)).rejects.toThrow(
		'environment registry configuration error: Noise environment requires CODEX_EXEC_SERVER_NOISE_REGISTRY_URL, CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID, and CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
	);
});

test('an address that is none is refused', async () => {
	await expect(loaded({LONGARM_EXEC_SERVER_URL: 'http://x'})).rejects.toThrow('must use ws:// or wss://');
});

test('an environment can be added and replaced, and the old one ends', async () => {
	const [one, other] = [await serving(), await serving()];
	const manager = await loaded({});
	const first = manager.upsert('dev', one.url);
	const {process} = await first.processes.start(sh('p', 'sleep 1000'));
	const second = manager.upsert('dev', other.url);
	await expect(process.closed).rejects.toThrow('exec-server transport disconnected');
	expect(manager.get('dev')).toBe(second);
	expect((await second.info()).shell.path).toMatch(/^\//);
	const lost = await first.processes.start(sh('q', 'true')).catch((error: unknown) => error);
	expect(String(lost)).toContain('the environment is closed');
});

const MISUSES: [string, string, string][] = [
	['', 'ws://127.0.0.1:1', 'environment id cannot be empty'],
	['local', 'ws://127.0.0.1:1', 'environment id `local` is reserved for EnvironmentManager'],
	['dev', '', 'remote environment requires an exec-server url'],
	['dev', 'None', 'remote environment cannot use disabled exec-server url'],
];

test.each(MISUSES)('adding %j at %j is refused', async (id, url, message) => {
	const manager = await loaded({});
	expect(() => manager.upsert(id, url)).toThrow(`exec-server protocol error: ${message}`);
});

test('a default that is not there is refused', () => {
	const config = {defaultId: 'dev', includesLocal: true, remotes: new Map()};
	expect(() => new EnvironmentManager(config)).toThrow(
		'exec-server protocol error: default environment `dev` is not configured',
	);
});

test('no token shows in what is printed of an environment', async () => {
	const manager = await loaded({LONGARM_EXEC_SERVER_URL: 'ws://127.0.0.1:1', LONGARM_EXEC_SERVER_TOKEN: 'hunter2'});
	expect(inspect(manager, {depth: 20, showHidden: true})).not.toContain('hunter2');
	const error = await manager.default!.info().catch((thrown: unknown) => thrown);
	expect(inspect(error, {depth: 20, showHidden: true})).not.toContain('hunter2');
});
