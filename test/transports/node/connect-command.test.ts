import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {SessionClient} from '../../../src/client/session/session-client.js';
import {connectCommand} from '../../../src/transports/node/connect-command.js';
import {PROGRAM} from '../../helpers/command.js';
import {eventually, isAlive, untilDead} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const serve = (script = `exec ${process.execPath} ${PROGRAM} serve --listen stdio`) =>
	connectCommand('sh', {args: ['-c', script]});

test('a session over a command lives and ends with it', async () => {
	const transport = await serve();
	const client = await SessionClient.open(async () => transport, {recovers: false});
	expect(await client.call('environment/status', null)).toEqual({status: 'ready'});
	client.close();
	await client.ended;
	await untilDead(transport.pid);
});

test('everything the command started goes with it, asked or killed', async () => {
	const pids: number[] = [];
	const script = `trap '' TERM; sleep 1000 & echo $! >&2; sleep 1000 & echo $! >&2; wait`;
	const transport = await connectCommand('sh', {
		args: ['-c', script],
		onStderr: text => pids.push(...text.trim().split('\n').map(Number)),
	});
	await eventually(() => pids.length === 2);
	transport.destroy();
	await untilDead(transport.pid, ...pids);
	expect(pids.filter(isAlive)).toEqual([]);
});

test('what left the process group and the session of a command ends with it, too, deaf or not', async () => {
	const pids: number[] = [];
	const deaf = `trap "" TERM; echo $$ >&2; while :; do sleep 1; done`;
	const script = `setsid sh -c 'echo $$ >&2; exec sleep 1000' & setsid sh -c '${deaf}' & wait`;
	const transport = await connectCommand('sh', {
		args: ['-c', script],
		onStderr: text => pids.push(...text.trim().split('\n').map(Number)),
	});
	await eventually(() => pids.length === 2);
	transport.destroy();
	await untilDead(transport.pid, ...pids);
	expect(pids.filter(isAlive)).toEqual([]);
});

test('a command that ends by itself takes its children along, and its last words are the reason', async () => {
	let pid = 0;
	const transport = await connectCommand('sh', {
		args: ['-c', 'sleep 1000 <&- >&- & echo $! >&2; echo no such host >&2; exit 1'],
		onStderr: text => {
			pid ||= Number.parseInt(text, 10);
		},
	});
	const opening = SessionClient.open(async () => transport);
	await expect(opening).rejects.toThrow(/exec-server transport disconnected: the command said: \d+\nno such host/);
	await eventually(() => pid > 0 && !isAlive(pid));
});

test('a command that ends without a word is told by its exit code', async () => {
	const opening = SessionClient.open(() => connectCommand('sh', {args: ['-c', 'exit 7']}), {recovers: false});
	await expect(opening).rejects.toThrow('exec-server transport disconnected: the command ended with code 7');
});

test('a command that talks nonsense is ended, also during the handshake', async () => {
	const transport = await connectCommand('sh', {args: ['-c', 'echo Welcome to box; exec sleep 1000']});
	await expect(SessionClient.open(async () => transport)).rejects.toThrow('failed to parse JSON-RPC message');
	await untilDead(transport.pid);
});

test('a command that cannot be started says so', async () => {
	await expect(connectCommand('/no/such/command')).rejects.toThrow(
		'failed to spawn exec-server: spawn /no/such/command ENOENT',
	);
});

test('secrets of the client stay out of the command, what is given goes in', async () => {
	const file = join(scratchDirectory(), 'env');
	writeFileSync(file, '');
	process.env['CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN'] = 'secret';
	const transport = await connectCommand('sh', {args: ['-c', `env > ${file}; cat`], env: {GIVEN: 'yes'}});
	delete process.env['CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN'];
	const {readFileSync} = await import('node:fs');
	const text = await eventually(() => readFileSync(file, 'utf8').includes('GIVEN=yes') && readFileSync(file, 'utf8'));
	expect(text).not.toContain('secret');
	transport.destroy();
	await untilDead(transport.pid);
});
