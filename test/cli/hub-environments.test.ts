// covers: src/cli/commands/env, src/cli/commands/serve/serve-remote.ts, src/environments/config/noise-variables.ts, src/transports/node/relay
import {X509Certificate} from 'node:crypto';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {fingerprintOfKeys} from '../../src/transports/node/relay/known-executors.js';
import {Authority} from '../helpers/certificates.js';
import {Command, run} from '../helpers/command.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {fileWith} from '../helpers/tokens.js';

/** Variables of a user of his own, with nothing remembered. */
function newUser(): {LONGARM_HOME: string; XDG_STATE_HOME: string} {
	return {LONGARM_HOME: scratchDirectory(), XDG_STATE_HOME: scratchDirectory()};
}

/** The built server behind a hub, when it is online. */
async function servingVia(
	{url, executorToken}: RunningHub,
	environmentId: string,
	...more: string[]
): Promise<Command> {
	const args = ['serve', '--remote', url, '--environment-id', environmentId, '--token-file', fileWith(executorToken)];
	const server = new Command([...args, '--log-format', 'json', ...more], {env: newUser()});
	await server.logs('"online"');
	return server;
}

test('a machine behind a hub is given a name, and then commands, files and lists work there', async () => {
	const hub = await runningHub();
	await servingVia(hub, 'devbox');
	const user = newUser();
	const address = `registry+${hub.url}/devbox`;
	const added = await run(['env', 'add', 'box', address, '--token-file', fileWith(hub.clientToken)], user);
	expect(added).toMatchObject({code: 0, stderr: ''});
	expect(await run(['run', '-e', 'box', '--', 'sh', '-c', 'echo hi; exit 3'], user)).toMatchObject({
		code: 3,
		stdout: 'hi\n',
	});
	const directory = scratchDirectory();
	const [here, there, back] = ['here', 'there', 'back'].map(name => join(directory, name));
	writeFileSync(here!, Buffer.alloc(300_000, 'bytes '));
	expect(await run(['cp', here!, `box:${there}`], user)).toMatchObject({code: 0});
	expect(await run(['get', '-e', 'box', there!, back!], user)).toMatchObject({code: 0});
	expect(readFileSync(back!).equals(readFileSync(here!))).toBe(true);
	expect((await run(['run', '-e', 'box', '--detach', '--name', 'nap', '--', 'sleep', '100'], user)).code).toBe(0);
	expect((await run(['ps', '-e', 'box'], user)).stdout).toContain('nap');
	expect((await run(['stop', '-e', 'box', 'nap'], user)).code).toBe(0);
	const {stdout} = await run(['env', 'list', '--json'], user);
	expect(JSON.parse(stdout)).toContainEqual({
		name: 'box',
		default: false,
		kind: 'registry',
		url: address,
		hasToken: true,
	});
	expect((await run(['env', 'test', 'box'], user)).stdout).toMatch(/^ok +box +longarm /);
});

test('the variables of the stock client lead to the machine behind the hub, all three or none', async () => {
	const hub = await runningHub();
	await servingVia(hub, 'devbox');
	const noise = {
		CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: hub.url,
		CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: 'devbox',
		CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: hub.clientToken,
	};
	const user = {...newUser(), ...noise, CODEX_EXEC_SERVER_URL: 'ws://127.0.0.1:1'};
	expect(await run(['run', '--', 'printenv', 'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN'], user)).toMatchObject({code: 1});
	expect(await run(['run', '--', 'echo', 'there'], user)).toMatchObject({code: 0, stdout: 'there\n'});
	const {stdout} = await run(['env', 'list', '--json'], user);
	expect(JSON.parse(stdout)).toEqual([
		{
			name: 'remote',
			default: true,
			defaultBy: 'CODEX_EXEC_SERVER_NOISE_REGISTRY_URL',
			kind: 'registry',
			url: `registry+${hub.url}/devbox`,
			hasToken: true,
		},
	]);
	for (const missing of Object.keys(noise)) {
		const {code, stderr} = await run(['ls', '/'], {...user, [missing]: ''});
		expect(code).toBe(2);
		expect(stderr).toContain(
			'environment registry configuration error: Noise environment requires CODEX_EXEC_SERVER_NOISE_REGISTRY_URL, CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID, and CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
		);
	}
});

test('the key of the first connection is remembered, and another one refused unless any is taken', async () => {
	const hub = await runningHub();
	const first = await runningExecutor(hub, 'devbox');
	const pin = fingerprintOfKeys(publicKeysOf(first.keys));
	const user = newUser();
	const add = (name: string, ...more: string[]): ReturnType<typeof run> =>
		run(['env', 'add', name, `registry+${hub.url}/devbox`, '--token-file', fileWith(hub.clientToken), ...more], user);
	await add('seen');
	await add('pinned', '--executor-key', pin);
	await add('any', '--executor-key', 'any');
	expect(await run(['env', 'test', 'seen', 'pinned', 'any'], user)).toMatchObject({code: 0});
	await runningExecutor(hub, 'devbox');
	for (const name of ['seen', 'pinned']) {
		const {code, stderr} = await run(['run', '-e', name, '--', 'true'], user);
		expect([code, stderr]).toEqual([125, expect.stringContaining(`and the one that is known is ${pin}`)]);
	}
	expect(await run(['run', '-e', 'any', '--', 'echo', 'new'], user)).toMatchObject({code: 0, stdout: 'new\n'});
	const wrong = await add('wrong', '--executor-key', 'sha256:12');
	expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('is no key of an executor')]);
	const other = await run(['env', 'add', 'ws', 'ws://127.0.0.1:1', '--executor-key', 'any'], user);
	expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('registry+https:// URL only')]);
});

test('a hub lists the environments that a token is good for', async () => {
	const hub = await runningHub();
	const {keys, link} = await runningExecutor(hub, 'gone');
	link.close();
	await runningExecutor(hub, 'devbox');
	const list = (token: string, ...more: string[]): ReturnType<typeof run> =>
		run(['env', 'list', '--hub', hub.url, '--token-file', fileWith(token), ...more], newUser());
	const lines = (await list(hub.clientToken)).stdout.split('\n');
	expect(lines[0]).toMatch(/^devbox {2}online {3}sha256:[0-9a-f]{64} {2}for \S+, 0 clients$/);
	expect(lines[1]).toBe(`gone    offline  ${fingerprintOfKeys(publicKeysOf(keys))}`);
	const {stdout} = await list((await hub.hub.tokens.create('client', 'dev*')).token, '--json');
	expect(JSON.parse(stdout)).toEqual([expect.objectContaining({id: 'devbox', isOnline: true, streams: 0})]);
	const refused = await list('wrong');
	expect([refused.code, refused.stderr]).toEqual([
		1,
		expect.stringContaining('authentication failed (401 Unauthorized)'),
	]);
});

test('a hub with a certificate of its own authority or a pinned one is trusted, and no other', async () => {
	const authority = new Authority();
	const {cert, key} = authority.issue();
	const hub = await runningHub({tls: {cert, key}});
	const pin = `sha256:${new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase()}`;
	const caFile = fileWith(authority.ca);
	const serving = servingVia(hub, 'devbox', '--remote-ca-file', caFile);
	await serving;
	const user = newUser();
	const add = (name: string, ...more: string[]): ReturnType<typeof run> =>
		run(['env', 'add', name, `registry+${hub.url}/devbox`, '--token-file', fileWith(hub.clientToken), ...more], user);
	await add('untrusted');
	await add('by-authority', '--ca-file', caFile);
	await add('by-pin', '--tls-fingerprint', pin);
	await add('by-other-pin', '--tls-fingerprint', `sha256:${'00'.repeat(32)}`);
	for (const name of ['by-authority', 'by-pin']) {
		expect(await run(['run', '-e', name, '--', 'echo', name], user)).toMatchObject({code: 0, stdout: `${name}\n`});
	}
	expect((await run(['run', '-e', 'by-other-pin', '--', 'true'], user)).stderr).toContain('its certificate is sha256:');
	expect((await run(['run', '-e', 'untrusted', '--', 'true'], user)).stderr).toContain('--ca-file FILE');
	const listed = await run(
		['env', 'list', '--hub', hub.url, '--token-file', fileWith(hub.clientToken), '--tls-fingerprint', pin],
		user,
	);
	expect(listed.stdout).toContain('devbox  online');
});
