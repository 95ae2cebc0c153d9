import {realpathSync} from 'node:fs';
import {expect, test} from 'vitest';
import {disconnect} from '../helpers/disconnect.js';
import {joined, refusal, served, toldPids} from '../helpers/process-api.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';

interface V0Event {
	readonly method: string;
	readonly params: Record<string, unknown>;
}

function exec(client: TestClient, script: string, changes: Record<string, unknown> = {}): Promise<unknown> {
	const env = {PATH: process.env['PATH']};
	return client.call('command/exec', {argv: ['/bin/sh', '-c', script], cwd: '/tmp', env, tty: false, ...changes});
}

function write(client: TestClient, sessionId: string, text: string): Promise<unknown> {
	return client.call('command/exec/write', {sessionId, chunk: Buffer.from(text).toString('base64')});
}

function about(client: TestClient, sessionId: string): V0Event[] {
	return (client.events as V0Event[]).filter(({params}) => params['sessionId'] === sessionId);
}

function output(client: TestClient, sessionId: string, stream?: string): string {
	const deltas = about(client, sessionId).filter(
		({method, params}) => method === 'command/exec/outputDelta' && (!stream || params['stream'] === stream),
	);
	return Buffer.concat(deltas.map(({params}) => Buffer.from(params['chunk'] as string, 'base64'))).toString();
}

function exited(client: TestClient, sessionId: string): Promise<Record<string, unknown>> {
	return client.until(
		() => about(client, sessionId).find(({method}) => method === 'command/exec/exited')?.params,
		`the exit of ${sessionId}`,
	);
}

test('the server names processes session-1, session-2 and so on, for each connection anew', async () => {
	const {url, client} = await served();
	const other = await joined(url);
	expect(await exec(client, 'true')).toEqual({sessionId: 'session-1'});
	expect(await exec(client, 'true')).toEqual({sessionId: 'session-2'});
	expect(await exec(other, 'true')).toEqual({sessionId: 'session-1'});
});

test('output and exit are told in the words of the first protocol, without numbers, and nothing follows', async () => {
	const {client} = await served();
	await exec(client, 'printf out; printf error >&2; exit 7');
	expect(await exited(client, 'session-1')).toEqual({sessionId: 'session-1', exitCode: 7});
	const [out, error] = ['out', 'error'].map(text => Buffer.from(text).toString('base64'));
	await client.until(() => output(client, 'session-1').length === 8);
	// A whole process in the current protocol: whatever was still to come has come.
	await client.sh('p', 'true');
	await client.event('p', 'process/closed');
	expect(new Set(about(client, 'session-1'))).toEqual(
		new Set([
			{method: 'command/exec/outputDelta', params: {sessionId: 'session-1', stream: 'stdout', chunk: out}},
			{method: 'command/exec/outputDelta', params: {sessionId: 'session-1', stream: 'stderr', chunk: error}},
			{method: 'command/exec/exited', params: {sessionId: 'session-1', exitCode: 7}},
		]),
	);
});

test('a terminal takes writes and its output is called stdout', async () => {
	const {client} = await served();
	await exec(client, 'stty -echo; echo ready; read line; echo "echo:$line"; exit 3', {tty: true, arg0: null});
	await client.until(() => output(client, 'session-1').includes('ready'));
	expect(await write(client, 'session-1', 'hello\n')).toEqual({accepted: true});
	expect(await exited(client, 'session-1')).toEqual({sessionId: 'session-1', exitCode: 3});
	await client.until(() => output(client, 'session-1', 'stdout') === 'ready\r\necho:hello\r\n');
});

test('one connection may mix both protocols, and each process is told of in its own', async () => {
	const {client} = await served();
	await exec(client, 'stty -echo; echo ready; read line; echo "v0 $line"', {tty: true});
	await client.sh('session-1', 'read line; echo "current $line"', {pipeStdin: true});
	await client.until(() => output(client, 'session-1').includes('ready'));
	expect(await client.write('session-1', 'b\n', 'w')).toEqual({status: 'accepted'});
	expect(await write(client, 'session-1', 'a\n')).toEqual({accepted: true});
	expect(await client.done('session-1')).toMatchObject({exitCode: 0, stdout: 'current b\n'});
	expect(await exited(client, 'session-1')).toEqual({sessionId: 'session-1', exitCode: 0});
	await client.until(() => output(client, 'session-1') === 'ready\r\nv0 a\r\n');
	const {processes} = await client.call<{processes: {processId: string; tty: boolean}[]}>('process/list');
	expect(processes).toMatchObject([{processId: 'session-1', tty: false}]);
});

test('a process of the first protocol is not there for the methods of the current one, and the other way round', async () => {
	const {client} = await served();
	await exec(client, 'sleep 1000');
	await client.sh('p', 'sleep 1000', {pipeStdin: true});
	expect(await client.write('session-1', 'x', 'w')).toEqual({status: 'unknownProcess'});
	expect(await client.call('process/terminate', {processId: 'session-1'})).toEqual({running: false});
	expect(await refusal(write(client, 'p', 'x'))).toEqual({code: -32600, message: 'unknown session id p'});
	expect(await client.call('command/exec/terminate', {sessionId: 'p'})).toEqual({running: false});
	expect(await client.call('process/wait', {processId: 'p', timeoutMs: 0})).toMatchObject({running: true});
});

test.each([
	['an empty argv', {argv: []}, {code: -32602, message: 'argv must not be empty'}],
	[
		'a program that is not there',
		{argv: ['/no/such/program']},
		{code: -32603, message: 'No such file or directory (os error 2)'},
	],
])('%s is refused', async (_, changes, error) => {
	const {client} = await served();
	expect(await refusal(exec(client, '', changes))).toMatchObject(error);
});

test('a path may be native or a URI', async () => {
	const {client} = await served();
	const directory = realpathSync(scratchDirectory());
	await exec(client, 'pwd', {cwd: directory});
	await exec(client, 'pwd', {cwd: `file://${directory}`});
	await Promise.all([exited(client, 'session-1'), exited(client, 'session-2')]);
	await client.until(() => ['session-1', 'session-2'].every(id => output(client, id).endsWith('\n')));
	expect([output(client, 'session-1'), output(client, 'session-2')]).toEqual([`${directory}\n`, `${directory}\n`]);
});

test('pipes never have an input, and what has exited or never was is not there', async () => {
	const {client} = await served();
	await exec(client, 'cat; echo "no input"; sleep 1000');
	await client.until(() => output(client, 'session-1') === 'no input\n');
	expect(await refusal(write(client, 'session-1', 'x'))).toEqual({
		code: -32600,
		message: 'stdin is closed for session session-1',
	});
	expect(await client.call('command/exec/terminate', {sessionId: 'session-1'})).toEqual({running: true});
	expect(await exited(client, 'session-1')).toEqual({sessionId: 'session-1', exitCode: 137});
	for (const sessionId of ['session-1', 'missing']) {
		expect(await client.call('command/exec/terminate', {sessionId})).toEqual({running: false});
		expect(await refusal(write(client, sessionId, 'x'))).toEqual({
			code: -32600,
			message: `unknown session id ${sessionId}`,
		});
	}
});

test('what still comes after the exit is delivered', async () => {
	const {client} = await served();
	await exec(client, '(trap "echo late; exit" TERM; echo ready; while :; do sleep 0.02; done) & echo $!');
	expect(await exited(client, 'session-1')).toEqual({sessionId: 'session-1', exitCode: 0});
	await client.until(() => output(client, 'session-1').includes('ready\n'));
	const background = await client.until(() => Number(/(\d+)\n/.exec(output(client, 'session-1'))?.[1]) || undefined);
	process.kill(background, 'SIGTERM');
	await client.until(() => output(client, 'session-1').endsWith('late\n'));
	const methods = about(client, 'session-1').map(({method}) => method);
	expect(methods.lastIndexOf('command/exec/outputDelta')).toBeGreaterThan(methods.indexOf('command/exec/exited'));
});

test('processes of the first protocol end with the connection, those of the current one stay', async () => {
	const {server, url, client} = await served();
	await exec(client, 'echo $$; exec sleep 1000');
	await exec(client, "trap '' TERM HUP; echo $$; while :; do sleep 1000; done", {tty: true});
	await client.sh('p', 'echo $$; exec sleep 1000');
	const [kept] = await toldPids(client, 'p', 1);
	await client.until(() => output(client, 'session-1').endsWith('\n') && output(client, 'session-2').endsWith('\n'));
	const pids = [Number(output(client, 'session-1')), Number(output(client, 'session-2'))];
	expect(pids.filter(isAlive)).toEqual(pids);
	await disconnect({server, client});
	await untilDead(...pids);
	expect(isAlive(kept!)).toBe(true);
	const again = await joined(url, client.sessionId);
	expect(await exec(again, 'true')).toEqual({sessionId: 'session-1'});
});

test('its methods need the handshake like all others', async () => {
	const {url} = await served();
	const client = await TestClient.overWebSocket(url);
	expect(await refusal(exec(client, 'true'))).toEqual({
		code: -32600,
		message: 'client must call initialize before using exec methods',
	});
	const result = await client.call('initialize', {clientName: 'old'});
	expect(result).toMatchObject({protocolVersion: 'exec-server.v0', sessionId: expect.any(String) as unknown});
	expect(await refusal(exec(client, 'true'))).toEqual({
		code: -32600,
		message: 'client must send initialized before using exec methods',
	});
});
