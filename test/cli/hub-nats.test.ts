// covers: src/cli/commands/hub, src/hub/nats/nats-server-child.ts
import {existsSync, readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {environmentVia, runningExecutor} from '../helpers/hubs.js';
import {needs} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const LISTEN = ['--listen', 'http://127.0.0.1:0'];

async function token(data: string, kind: string, ...rest: string[]): Promise<string> {
	const {code, stdout, stderr} = await run(['hub', 'token', 'create', kind, '*', '--data', data, ...rest]);
	expect([code, stderr]).toEqual([0, '']);
	return stdout.trim();
}

test(
	'a hub with --nats auto starts a server of its own, gives out tokens, shows its state and is drained',
	needs('nats-server'),
	async () => {
		const data = scratchDirectory();
		const hub = new Command(['hub', ...LISTEN, '--data', data, '--nats', 'auto']);
		const url = await hub.url();
		const [executorToken, clientToken] = [await token(data, 'executor'), await token(data, 'client')];
		expect(existsSync(join(data, 'tokens.jsonl'))).toBe(false);
		const config = join(data, 'nats', 'nats-server.conf');
		expect(statSync(config).mode & 0o077).toBe(0);
		const shared = {url, data, executorToken, clientToken} as never as Parameters<typeof environmentVia>[0];
		await runningExecutor(shared, 'devbox');
		expect((await environmentVia(shared, 'devbox').shell('echo through NATS')).stdout.text).toBe('through NATS\n');

		const status = JSON.parse((await run(['hub', 'status', '--json', '--data', data])).stdout) as object;
		expect(status).toMatchObject({isDraining: false, executors: 1, nats: {isConnected: true}, nodes: [{isSelf: true}]});
		expect((await run(['hub', 'status', '--data', data])).stdout).toMatch(/^NATS {7}.*127\.0\.0\.1:\d+, version \d/m);
		const listed = JSON.parse((await run(['hub', 'token', 'list', '--json', '--data', data])).stdout) as {id: string}[];
		expect(listed.length).toBe(2);
		expect((await run(['hub', 'token', 'revoke', listed[1]!.id, '--data', data])).code).toBe(0);
		expect((await run(['hub', 'token', 'revoke', listed[1]!.id, '--data', data])).code).toBe(1);

		expect((await run(['hub', 'drain', '--timeout', '100ms', '--data', data])).code).toBe(0);
		expect(await hub.ended).toEqual({code: 0, signal: null});
		expect(hub.stderr).toContain('"drained"');
		const secret = /token: "(\w+)"/.exec(readFileSync(config, 'utf8'))![1]!;
		expect(hub.stderr).not.toContain(secret);
		// The tokens are in NATS, and no hub is there to ask.
		const {code, stderr} = await run(['hub', 'token', 'list', '--data', data]);
		expect([code, stderr]).toMatchObject([1, expect.stringContaining('no hub that uses')]);

		// Started again, it has them.
		const again = new Command(['hub', ...LISTEN, '--data', data, '--nats', 'auto']);
		await again.url();
		const kept = JSON.parse((await run(['hub', 'token', 'list', '--json', '--data', data])).stdout) as {id: string}[];
		expect(kept.map(({id}) => id)).toEqual([listed[0]!.id]);
		again.child.kill('SIGTERM');
		expect(await again.ended).toEqual({code: 0, signal: null});
	},
);

test.each([
	[['--nats', 'http://host'], '--nats `http://host`: expected auto, or an address'],
	[['--nats', 'nats://user:secret@host:4222'], '--nats takes no password'],
	[['--nats', 'auto', '--nats', 'nats://host:4222'], '--nats auto starts one server'],
	[['--nats-creds', 'file'], 'options that begin with --nats- go with --nats'],
	[['--nats', 'nats://host:4222', '--nats-cert', 'file'], '--nats-cert and --nats-key go together'],
	[['--nats', 'nats://host:4222', '--nats-replicas', '0'], '--nats-replicas is a number from 1 to 5'],
])('hub %j is a wrong command line, and shows no secret', async (args, message) => {
	const {code, stdout, stderr} = await run(['hub', ...LISTEN, '--data', scratchDirectory(), ...args]);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toContain(message);
	expect(stderr).not.toContain('secret');
});

test('where nats-server is missing --nats auto says how to install it', async () => {
	const data = scratchDirectory();
	const {code, stderr} = await run(['hub', ...LISTEN, '--data', data, '--nats', 'auto'], {PATH: '/nonexistent'});
	expect([code, stderr]).toMatchObject([1, expect.stringContaining('nats-server is not on the PATH; install it')]);
});

/** Modules that a command has loaded until it prints its address, by Node's own account. */
async function loadedBy(args: readonly string[]): Promise<string> {
	const command = new Command(args, {env: {NODE_DEBUG: 'module'}});
	await command.url();
	await eventually(() => command.stderr.includes('listening'));
	command.child.kill('SIGTERM');
	await command.ended;
	return command.stderr;
}

test('without --nats neither a hub nor a server loads anything of NATS', needs('nats-server'), async () => {
	expect(await loadedBy(['hub', ...LISTEN, '--data', scratchDirectory()])).not.toContain('@nats-io');
	expect(await loadedBy(['serve', '--listen', 'ws://127.0.0.1:0'])).not.toContain('@nats-io');
	// The account is one that would show it.
	expect(await loadedBy(['hub', ...LISTEN, '--data', scratchDirectory(), '--nats', 'auto'])).toContain('@nats-io');
});
