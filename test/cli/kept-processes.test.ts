// covers: src/server/state/state-parts.ts, src/server/keeper/keepers.ts, src/cli/commands/serve/create-server.ts
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {SessionClient} from '../../src/client/session/session-client.js';
import {listStateParts} from '../../src/server/state/state-parts.js';
import {connectCommand} from '../../src/transports/node/connect-command.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {runningHub} from '../helpers/hubs.js';
import {listLivingKeepers} from '../helpers/keepers.js';
import {askUntil, isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {sh} from '../helpers/start-params.js';
import {fileWith} from '../helpers/tokens.js';

const STDIO = `cmd:${process.execPath} ${PROGRAM} serve --listen stdio`;

interface User {
	readonly home: string;
	readonly env: Record<string, string>;
}

/** A user without any state; everything that was kept ends with the test. */
function freshUser(): User {
	const home = scratchDirectory();
	const env = {HOME: home, XDG_STATE_HOME: join(home, 's'), LONGARM_HOME: join(home, 'l')};
	onTestFinished(async () => {
		// A test that fails leaves its daemon.
		if (existsSync(join(home, 's/longarm/local'))) await run(['daemon', 'stop', '--force'], env);
		for (const base of ['serve', 'local/state']) {
			const parts = listStateParts(join(home, 's/longarm', base));
			for (const {pid} of parts.flatMap(listLivingKeepers)) process.kill(pid, 'SIGKILL');
		}
	});
	return {home, env};
}

interface Listed {
	readonly id: string;
	readonly name: string | null;
	readonly pid: number;
	readonly state: string;
	readonly ageMs: number;
	readonly startedAt: string;
}

async function list(url: string, {env}: User, ...options: string[]): Promise<Listed[]> {
	const {code, stdout, stderr} = await run(['ps', '--json', '-e', url, ...options], env);
	expect([code, stderr]).toEqual([0, '']);
	return JSON.parse(stdout) as Listed[];
}

/** Keeps a process that answers what it reads; settles with its process id. */
async function keep(url: string, user: User, name: string): Promise<number> {
	const script = 'echo first; while read -r line; do echo "got $line"; done; exec sleep 1000';
	expect(
		await run(['run', '--keep', '-t', '-e', url, '--name', name, '--', 'sh', '-c', script], user.env),
	).toMatchObject({code: 0, stderr: ''});
	return (await list(url, user)).find(each => each.name === name)!.pid;
}

/** Lists, reads and stops a kept process at a server. */
async function expectUsable(url: string, user: User, name: string, pid: number): Promise<void> {
	expect(await list(url, user)).toContainEqual(expect.objectContaining({name, pid, state: 'running'}));
	const logs = await run(['logs', name, '-e', url], user.env);
	expect([logs.code, logs.stdout]).toEqual([0, 'first\r\n']);
	expect(await run(['stop', name, '-e', url, '--grace', '1s'], user.env)).toMatchObject({code: 0});
	await untilDead(pid);
}

async function serve(user: User, ...args: string[]): Promise<{readonly server: Command; readonly url: string}> {
	const server = new Command(['serve', '--log-level', 'warn', ...args], {env: user.env});
	return {server, url: (await server.url()).split('\n')[0]!};
}

async function end(server: Command, signal: NodeJS.Signals): Promise<void> {
	server.child.kill(signal);
	await server.ended;
}

test.each([
	['ws', 'SIGKILL'],
	['ws', 'SIGINT'],
	['unix', 'SIGKILL'],
	['unix', 'SIGTERM'],
] as const)('a kept process is found again by the next server on %s after %s', async (kind, signal) => {
	const user = freshUser();
	const address = kind === 'ws' ? 'ws://127.0.0.1:0' : `unix:${join(user.home, 'x.sock')}`;
	const first = await serve(user, '--listen', address);
	const pid = await keep(first.url, user, 'kept');
	await end(first.server, signal);
	expect(isAlive(pid)).toBe(true);
	const second = await serve(user, '--listen', address);
	await expectUsable(second.url, user, 'kept', pid);
});

test('a kept process is found by a server on stdio, which is one of its own for each command', async () => {
	const user = freshUser();
	const first = await serve(user, '--listen', 'ws://127.0.0.1:0');
	const pid = await keep(first.url, user, 'kept');
	await end(first.server, 'SIGKILL');
	expect(isAlive(pid)).toBe(true);
	await expectUsable(STDIO, user, 'kept', pid);
});

test('a kept process is found again by a server behind a hub', async () => {
	const user = freshUser();
	const hub = await runningHub();
	const start = async (): Promise<Command> => {
		const args = ['--remote', hub.url, '--environment-id', 'devbox', '--token-file', fileWith(hub.executorToken)];
		const server = new Command(['serve', ...args], {env: user.env});
		await server.logs('"online"');
		return server;
	};
	const url = `registry+${hub.url}/devbox`;
	const client = {...user, env: {...user.env, LONGARM_EXEC_SERVER_TOKEN: hub.clientToken}};
	const first = await start();
	const pid = await keep(url, client, 'kept');
	await end(first, 'SIGKILL');
	expect(isAlive(pid)).toBe(true);
	await start();
	await expectUsable(url, client, 'kept', pid);
});

test('a kept process of this machine is found after its daemon was killed, without a command that starts one', async () => {
	const user = freshUser();
	expect(await run(['run', '--keep', '--name', 'kept', '--', 'sleep', '1000'], user.env)).toMatchObject({code: 0});
	const [kept] = await list('local', user);
	const killed = await run(['daemon', 'stop'], user.env);
	expect(killed).toMatchObject({code: 0, stderr: ''});
	expect(isAlive(kept!.pid)).toBe(true);
	expect(await list('local', user)).toEqual([
		expect.objectContaining({name: 'kept', pid: kept!.pid, state: 'running'}),
	]);
	expect(await run(['rm', '-f', 'kept'], user.env)).toMatchObject({code: 0});
	await untilDead(kept!.pid);
	expect(await run(['daemon', 'stop'], user.env)).toMatchObject({code: 0});
});

/** A port of loopback that nothing listens on. */
async function freePort(): Promise<number> {
	const {createServer} = await import('node:net');
	const server = createServer().listen(0, '127.0.0.1');
	await new Promise(resolve => server.once('listening', resolve));
	const {port} = server.address() as {port: number};
	await new Promise(resolve => server.close(resolve));
	return port;
}

test('two servers of one user both keep processes, and each finds its own again, whichever is started first', async () => {
	const user = freshUser();
	const addresses = [`ws://127.0.0.1:${await freePort()}`, `unix:${join(user.home, 'x.sock')}`] as const;
	const one = await serve(user, '--listen', addresses[0]);
	const other = await serve(user, '--listen', addresses[1]);
	const [onePid, otherPid] = [await keep(one.url, user, 'one'), await keep(other.url, user, 'other')];
	expect(await run(['run', '-d', '-e', other.url, '--', 'true'], user.env)).toMatchObject({code: 0, stderr: ''});
	expect((await list(one.url, user)).map(({name}) => name)).toEqual(['one']);
	expect((await list(other.url, user)).map(({name}) => name)).toEqual(['other']);
	await end(one.server, 'SIGKILL');
	await end(other.server, 'SIGKILL');
	const otherAgain = await serve(user, '--listen', addresses[1]);
	// What the server that does not run has kept is not out of reach.
	expect(new Set((await list(otherAgain.url, user)).map(({name}) => name))).toEqual(new Set(['one', 'other']));
	const oneAgain = await serve(user, '--listen', addresses[0]);
	expect(oneAgain.server.stderr + otherAgain.server.stderr).toBe('');
	await expectUsable(otherAgain.url, user, 'other', otherPid);
	await expectUsable(oneAgain.url, user, 'one', onePid);
});

test('a second server of one user keeps its state when it is upgraded', async () => {
	const user = freshUser();
	const one = await serve(user, '--listen', 'ws://127.0.0.1:0');
	expect(await run(['run', '-d', '-e', one.url, '--', 'true'], user.env)).toMatchObject({code: 0, stderr: ''});
	const other = new Command(['serve', '--listen', `unix:${join(user.home, 'x.sock')}`], {env: user.env});
	const url = await other.url();
	const pid = await keep(url, user, 'kept');
	other.child.kill('SIGUSR2');
	await other.logs('"upgraded"');
	expect(await run(['run', '-d', '-e', url, '--', 'true'], user.env)).toMatchObject({code: 0, stderr: ''});
	await expectUsable(url, user, 'kept', pid);
});

test('a kept process that two servers have found takes input from both', async () => {
	const user = freshUser();
	const address = `ws://127.0.0.1:${await freePort()}`;
	const first = await serve(user, '--listen', address);
	await keep(first.url, user, 'kept');
	await end(first.server, 'SIGKILL');
	const guest = await serve(user, '--listen', `unix:${join(user.home, 'x.sock')}`);
	expect(await list(guest.url, user)).toHaveLength(1);
	const again = await serve(user, '--listen', address);
	expect(await list(again.url, user)).toHaveLength(1);
	for (const {url} of [guest, again, guest]) {
		const attached = new Command(['attach', 'kept', '-e', url], {env: user.env});
		attached.child.stdin.write('hello\n');
		await attached.until(() => attached.stdout.includes('got hello'), 'the answer');
		attached.child.kill('SIGKILL');
		await attached.ended;
	}
});

test('the age of a process of an earlier server counts from its start', async () => {
	const user = freshUser();
	const first = await serve(user, '--listen', 'ws://127.0.0.1:0');
	expect(await run(['run', '-d', '-e', first.url, '--', 'true'], user.env)).toMatchObject({code: 0});
	await askUntil(
		() => list(first.url, user, '-a'),
		([listed]) => listed?.state === 'closed',
	);
	const since = performance.now();
	await end(first.server, 'SIGTERM');
	const second = await serve(user, '--listen', 'ws://127.0.0.1:0');
	const serversMs = performance.now() - since;
	const [ended] = await askUntil(
		() => list(second.url, user, '-a'),
		listed => listed.length > 0,
	);
	// It had ended before the first server did.
	expect(ended!.ageMs).toBeGreaterThan(serversMs);
});

test.each([['-d'], ['--keep']])(
	'run %s on a server that exits with its client is left to the daemon over there',
	async option => {
		const user = freshUser();
		const started = await run(
			['run', option, '-e', STDIO, '--name', 'job', '--', 'sh', '-c', 'echo first; exec sleep 1000'],
			user.env,
		);
		expect(started).toMatchObject({code: 0, stderr: ''});
		const [listed] = await list(STDIO, user);
		expect(listed).toMatchObject({id: started.stdout.trim(), name: 'job', state: 'running'});
		expect(isAlive(listed!.pid)).toBe(true);
		// It is the daemon of the user, whichever way it is reached.
		expect(await list('local', user)).toMatchObject([{name: 'job'}]);
		await askUntil(
			() => run(['logs', 'job', '-e', STDIO], user.env),
			({stdout}) => stdout === 'first\n',
		);
		expect(await run(['stop', 'job', '-e', STDIO], user.env)).toMatchObject({code: 0, stderr: ''});
		await untilDead(listed!.pid);
		expect(await run(['rm', 'job', '-e', STDIO], user.env)).toMatchObject({code: 0, stderr: ''});
		expect(await run(['daemon', 'stop'], user.env)).toMatchObject({code: 0});
	},
);

test('a list, and a command that ends with its client, start no daemon on a machine that is reached by a command', async () => {
	const user = freshUser();
	expect(await run(['run', '-e', STDIO, '--', 'echo', 'hello'], user.env)).toMatchObject({code: 0, stdout: 'hello\n'});
	expect(await list(STDIO, user, '-a')).toEqual([]);
	expect(await run(['logs', 'none', '-e', STDIO], user.env)).toMatchObject({code: 1});
	expect(existsSync(join(user.home, 's/longarm/local'))).toBe(false);
});

test.each(['--max-processes=10', '--allow-http=none', '--child-nice=1'])(
	'run -d is refused, and starts nothing, where the server exits with its client and has restrictions (%s)',
	async restriction => {
		const user = freshUser();
		const mark = join(user.home, 'mark');
		const command = ['run', '-d', '-e', `${STDIO} ${restriction}`, '--', 'mkdir', mark];
		const {code, stdout, stderr} = await run(command, user.env);
		expect([code, stdout]).toEqual([125, '']);
		expect(stderr).toContain('start `longarm serve --listen unix:PATH` on its machine');
		expect(existsSync(mark)).toBe(false);
		expect(existsSync(join(user.home, 's/longarm/local'))).toBe(false);
	},
);

test('a server that exits with its client refuses to start what would end with it, whoever asks', async () => {
	const user = freshUser();
	const transport = await connectCommand(process.execPath, {
		args: [PROGRAM, 'serve', '--listen', 'stdio'],
		env: {...user.env, PATH: process.env['PATH']!},
	});
	const client = await SessionClient.open(async () => transport, {recovers: false});
	onTestFinished(() => client.close());
	const start = (more: object): Promise<unknown> => client.start(sh('p', 'exec sleep 1000', more));
	await expect(start({onDisconnect: 'keep'})).rejects.toThrow('cannot outlive its client');
	await expect(start({durable: true})).rejects.toThrow('exits with its client');
	expect(await client.list({all: true})).toEqual([]);
});
