import {readFileSync, writeFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {formatShareLink, parseShareLink} from '../../src/cli/common/processes/share-link.js';
import {Command, run} from '../helpers/command.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {ProcessServer} from '../helpers/process-server.js';
import {fileWith, sha256} from '../helpers/tokens.js';

const TOKEN = 'a token of the owner, long enough';

const tokenOf = (name: string, token: string, more = ''): string =>
	`[[tokens]]\nname = "${name}"\nsha256 = "${sha256(token)}"\n${more}`;

/** A server with the token of somebody called Ann, and commands that have it. */
function guarded(tokens = fileWith(tokenOf('ann', TOKEN), 'tokens.toml')): Promise<ProcessServer> {
	return ProcessServer.start(['--ws-auth', 'capability-token', '--ws-tokens-file', tokens], {
		LONGARM_EXEC_SERVER_TOKEN: TOKEN,
	});
}

describe('of a server with tokens', () => {
	test('a link lets its holder watch this process, and no other', async () => {
		const server = await guarded();
		const id = await server.detached('--name', 'shown', '--', 'sh', '-c', 'echo hello; sleep 1000');
		await server.detached('--name', 'hidden', '--', 'sleep', '1000');
		await server.longarm('wait', 'shown', '--text', 'hello');
		const {code, stdout, stderr} = await server.longarm('share', 'shown');
		expect([code, stderr]).toEqual([0, '']);
		expect(stdout).toBe(`${server.url}#share=${parseShareLink(stdout)!.token}&process=${id}\n`);
		const link = stdout.trim();
		expect(await run(['logs', link])).toMatchObject({code: 0, stdout: 'hello\n'});
		expect(await run(['wait', link, '--text', 'hello'])).toMatchObject({code: 0});
		const other = link.replace(id, 'hidden');
		expect(await run(['logs', other])).toMatchObject({code: 1, stdout: ''});
	});

	test('a link to watch does not drive, and one to drive does', async () => {
		const server = await guarded();
		const script = 'stty -echo; echo ready; while read line; do echo "<$line>"; done';
		await server.detached('--name', 'echo', '--tty', '--', 'sh', '-c', script);
		await server.longarm('wait', 'echo', '--text', 'ready');
		const watching = (await server.longarm('share', 'echo')).stdout.trim();
		const driving = (await server.longarm('share', '--drive', '--for', '5m', 'echo')).stdout.trim();
		const observer = await OnTerminal.longarm('attach', watching);
		await observer.shows('nobody drives, so you are watching');
		const driver = await OnTerminal.longarm('attach', driving);
		await driver.shows('you drive');
		await observer.shows('guest of ann drives now');
		await driver.type('typed\r');
		await observer.shows('<typed>');
		await observer.type('~t');
		await observer.shows('is not driven by this client');
		await observer.type('~d');
		expect(await observer.ended).toMatchObject({exitCode: 0});
	});

	test('programs get the link in parts', async () => {
		const server = await guarded();
		const id = await server.detached('--', 'sleep', '1000');
		const {stdout} = await server.longarm('share', '--json', '--drive', id);
		const shared = JSON.parse(stdout) as Record<string, string>;
		expect(shared).toMatchObject({url: server.url, id, role: 'drive'});
		expect(parseShareLink(shared['link']!)).toEqual({url: server.url, processId: id, token: shared['token']});
		expect(shared['expiresAt']).toMatch(/^\d{4}-\d\d-\d\dT/);
	});

	test('the secret of a link is in no error, log or list of programs', async () => {
		const server = await guarded();
		const id = await server.detached('--', 'sh', '-c', 'echo on; sleep 1000');
		await server.longarm('wait', id, '--text', 'on');
		const link = (await server.longarm('share', id)).stdout.trim();
		const {token} = parseShareLink(link)!;
		const follower = new Command(['logs', '-f', link]);
		await follower.until(() => follower.stdout.includes('on'), 'its output');
		expect(readFileSync(`/proc/${follower.pid}/cmdline`, 'utf8')).not.toContain(token);
		const failures = [
			await run(['logs', link.replace(/:\d+#/, ':1#')]),
			await run(['attach', link.replace(/&.*/, '')]),
			await run(['screen', link]),
			await run(['share', link]),
			await run(['stop', link]),
		];
		for (const {code, stdout, stderr} of failures) {
			expect(code).not.toBe(0);
			expect(stdout + stderr).not.toContain(token);
		}
		expect(server.server.stderr).not.toContain(token);
	});
});

test.each([
	['is revoked', tokenOf('bob', 'another token, long enough')],
	['is that of somebody else now', tokenOf('bob', TOKEN)],
	['may only look now', tokenOf('ann', TOKEN, 'scopes = ["observe"]\n')],
])('a link and its connections end when the token of the one who made it %s', async (_name, content) => {
	const tokens = fileWith(tokenOf('ann', TOKEN), 'tokens.toml');
	const server = await guarded(tokens);
	const id = await server.detached('--', 'sh', '-c', 'echo on; sleep 1000');
	await server.longarm('wait', id, '--text', 'on');
	const link = (await server.longarm('share', id, '--drive')).stdout.trim();
	const follower = new Command(['logs', '-f', link]);
	await follower.until(() => follower.stdout.includes('on'), 'its output');
	writeFileSync(tokens, content);
	server.server.child.kill('SIGHUP');
	expect((await follower.ended).code).not.toBe(0);
	expect((await run(['logs', link])).code).not.toBe(0);
	expect(server.server.stderr).toContain('a share was revoked');
});

test('links are listed, and revoked one by one or all at once, by their owner only', async () => {
	const tokens = fileWith(tokenOf('ann', TOKEN) + tokenOf('bob', 'another token, long enough'), 'tokens.toml');
	const server = await guarded(tokens);
	const id = await server.detached('--', 'sh', '-c', 'echo on; sleep 1000');
	await server.longarm('wait', id, '--text', 'on');
	const links = [(await server.longarm('share', id)).stdout, (await server.longarm('share', id, '--drive')).stdout];
	const listed = JSON.parse((await server.longarm('share', id, '--list', '--json')).stdout) as {id: string}[];
	expect(listed).toMatchObject([{role: 'observe'}, {role: 'drive'}]);
	for (const link of links) expect(JSON.stringify(listed)).not.toContain(parseShareLink(link)!.token);
	const follower = new Command(['logs', '-f', links[0]!.trim()]);
	await follower.until(() => follower.stdout.includes('on'), 'its output');
	const bob = {LONGARM_EXEC_SERVER_TOKEN: 'another token, long enough'};
	expect((await run(['share', '-e', server.url, id, '--revoke', 'all'], bob)).code).not.toBe(0);
	expect((await server.longarm('share', id, '--revoke', 'unknown')).code).toBe(1);
	expect(await server.longarm('share', id, '--revoke', listed[0]!.id)).toMatchObject({code: 0, stderr: ''});
	expect((await follower.ended).code).not.toBe(0);
	expect(await run(['logs', links[1]!.trim()])).toMatchObject({code: 0, stdout: 'on\n'});
	expect((await server.longarm('share', id, '--revoke', 'all')).code).toBe(0);
	expect((await server.longarm('share', id, '--list')).stdout).toBe('');
	expect((await run(['logs', links[1]!.trim()])).code).not.toBe(0);
});

test('a server without tokens shares nothing: everybody may attach', async () => {
	const server = await ProcessServer.start();
	const id = await server.detached('--', 'sleep', '1000');
	const {code, stdout, stderr} = await server.longarm('share', id);
	expect([code, stdout]).toEqual([1, '']);
	expect(stderr).toMatch(/^error: this server lets everybody in without a token\nhint: .*\n$/);
});

test.each<[string[], string]>([
	[['-e', 'local', 'x'], 'processes of this machine itself have no link'],
	[
		['-e', 'cmd:ssh host longarm serve --listen stdio', 'x'],
		'a server that is started for one connection has no address',
	],
	[['-e', 'ws://127.0.0.1:1', '--for', 'ever', 'x'], '--for ever: expected a time'],
])('share %j is misused', async (args, message) => {
	const {code, stdout, stderr} = await run(['share', ...args]);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toContain(`error: ${message}`);
});

test('a link is an address with a fragment', () => {
	const link = {url: 'unix:/run/x.sock', processId: 'a b&c', token: 'las_x-_'};
	expect(parseShareLink(formatShareLink(link))).toEqual(link);
	expect(parseShareLink('build')).toBeUndefined();
	expect(parseShareLink('name#share=t&process=p')).toBeUndefined();
	expect(() => parseShareLink('wss://host#share=secret')).toThrow('the link is incomplete');
	expect(() => parseShareLink('wss://host#share=secret')).not.toThrow('secret');
});
