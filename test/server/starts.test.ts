// covers: src/adapters/start-request.ts, src/adapters/wire-errors.ts
import {expect, test} from 'vitest';
import {toWireError} from '../../src/adapters/wire-errors.js';
import {RpcError} from '../../src/protocol/wire/error-codes.js';
import {ERRORS, type ErrorCode, LongarmError} from '../../src/shared/errors.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const NOT_FOUND = [-32603, 'No such file or directory (os error 2)'] as const;

function missingProgram(program: string): object {
	return {code: 'PROGRAM_NOT_FOUND', context: {program, error: 'ENOENT'}, hint: ERRORS.PROGRAM_NOT_FOUND.hint};
}

function badDirectory(cwd: string, error: string): object {
	return {code: 'CWD_UNUSABLE', context: {cwd, error}, hint: ERRORS.CWD_UNUSABLE.hint};
}

const SANDBOX = {permissions: {type: 'disabled'}, windowsSandboxLevel: 'disabled'};

test.each<[string, Record<string, unknown>, number, string, object?]>([
	['no argv', {argv: []}, -32602, 'argv must not be empty'],
	['an empty program', {argv: ['']}, -32603, 'missing program for pipe spawn'],
	['an empty program on a terminal', {argv: [''], tty: true}, -32603, 'missing program for PTY spawn'],
	['a missing program', {argv: ['/no/such']}, ...NOT_FOUND, missingProgram('/no/such')],
	['a program that is not in PATH', {argv: ['no-such-program']}, ...NOT_FOUND, missingProgram('no-such-program')],
	['a missing program on a terminal', {argv: ['/no/such'], tty: true}, ...NOT_FOUND, missingProgram('/no/such')],
	['a missing directory', {cwd: 'file:///no/such'}, ...NOT_FOUND, badDirectory('/no/such', 'ENOENT')],
	[
		'a missing directory on a terminal',
		{cwd: 'file:///no/such', tty: true},
		...NOT_FOUND,
		badDirectory('/no/such', 'ENOENT'),
	],
	[
		'a missing directory with a program that is not in PATH',
		{argv: ['no-such-program'], cwd: 'file:///no/such'},
		...NOT_FOUND,
		badDirectory('/no/such', 'ENOENT'),
	],
	[
		'a file as directory',
		{cwd: 'file:///etc/passwd'},
		-32603,
		'Not a directory (os error 20)',
		badDirectory('/etc/passwd', 'ENOTDIR'),
	],
	['a directory as program', {argv: ['/tmp']}, -32603, 'Permission denied (os error 13)'],
	['a NUL in an argument', {argv: ['/bin/true', 'a\0b']}, -32603, 'nul byte found in provided data'],
	['a NUL in a variable', {env: {A: 'a\0b'}}, -32603, 'data provided contains a nul byte'],
	[
		'a directory of Windows',
		{cwd: 'file:///C:/x'},
		-32602,
		"cwd URI `file:///C:/x` is not valid on this exec-server host: 'file:///C:/x' is invalid on 'linux'",
	],
	['a network proxy', {networkProxy: {}}, -32602, 'network proxies are not supported by this executor'],
])('%s is refused and leaves the id free', async (_, params, code, message, data) => {
	const client = await TestClient.overMemory(execServer()).initialize();
	const error = await client.start('p', ['/bin/true'], params).catch((reason: unknown) => reason);
	expect(error).toMatchObject({code, message, data});
	await client.sh('p', 'exit 4');
	expect((await client.done('p')).exitCode).toBe(4);
});

test.each([null, SANDBOX])('a sandbox that restricts nothing is none', async sandbox => {
	const client = await TestClient.overMemory(execServer()).initialize();
	expect(await client.sh('p', 'true', {sandbox})).toEqual({processId: 'p', sandboxType: 'none'});
});

test('a directory is checked before the id, the id before the program', async () => {
	const client = await TestClient.overMemory(execServer()).initialize();
	await client.sh('p', 'true');
	await expect(client.sh('p', 'true', {cwd: 'file:///C:/x'})).rejects.toMatchObject({code: -32602});
	await expect(client.start('p', ['/no/such'])).rejects.toMatchObject({
		code: -32600,
		message: 'process p already exists',
	});
});

test('variables named like members of every object reach the child', async () => {
	const client = await TestClient.overMemory(execServer()).initialize();
	const env = {['__proto__']: 'p', constructor: 'c', prototype: 't'};
	await client.start('p', ['/usr/bin/env'], {env});
	expect((await client.done('p')).stdout.trim().split('\n').sort()).toEqual([
		'__proto__=p',
		'constructor=c',
		'prototype=t',
	]);
});

test('every failure travels under a code of the protocol; only those the peers do not know carry details', () => {
	const travelling = (Object.keys(ERRORS) as ErrorCode[]).map(code => {
		const error = toWireError(new LongarmError(code, {message: 'what happened', context: {a: 1}})) as RpcError;
		expect(error).toBeInstanceOf(RpcError);
		expect(error.message).toBe('what happened');
		return [code, error.code, error.data !== undefined];
	});
	expect(travelling).toEqual([
		['PROCESS_EXISTS', -32600, false],
		['PROCESS_UNKNOWN', -32600, false],
		['PROCESS_AMBIGUOUS', -32600, true],
		['PROCESS_RUNNING', -32600, true],
		['NAME_INVALID', -32602, true],
		['NOT_DRIVER', -32600, true],
		['NOT_OWNER', -32600, true],
		['SHARE_REFUSED', -32600, true],
		['STATE_UNUSABLE', -32603, true],
		['EXECUTOR_KEY_CHANGED', -32603, false],
		['NATS_UNUSABLE', -32603, false],
		['POOL_FULL', -32603, false],
		['POOL_EMPTY', -32603, false],
		['UPGRADE_FAILED', -32603, true],
		['START_CANCELLED', -32600, false],
		['SPAWN_FAILED', -32603, false],
		['PROGRAM_NOT_FOUND', -32603, true],
		['CWD_UNUSABLE', -32603, true],
		['RESOURCES_EXHAUSTED', -32603, true],
		['STDIN_FAILED', -32603, false],
		['STDIN_CLOSED', -32603, false],
		['STDIN_BACKLOG_FULL', -32603, true],
		['NOT_SUPPORTED', -32602, false],
		['PROCESS_LIMIT', -32603, true],
		['SESSION_UNKNOWN', -32600, true],
		['SESSION_LIMIT', -32603, true],
		['REQUEST_LIMIT', -32603, true],
		['EXEC_REFUSED', -32600, true],
		['NO_TERMINAL', -32600, true],
		['SCREEN_UNFINISHED', -32603, true],
		['SIGNAL_UNKNOWN', -32602, true],
		['FILE_NOT_FOUND', -32004, false],
		['FILE_REFUSED', -32600, false],
		['FILE_FAILED', -32603, false],
		['TRANSFER_DAMAGED', -32603, true],
		['PATTERN_INVALID', -32602, true],
		['SANDBOX_INVALID', -32602, false],
		['HTTP_INVALID', -32602, false],
		['HTTP_FAILED', -32603, false],
		['HTTP_REFUSED', -32600, true],
		['FORWARD_REFUSED', -32600, true],
		['FORWARD_UNKNOWN', -32004, true],
		['FORWARD_FAILED', -32603, true],
		['CONFIG_UNREADABLE', -32603, false],
		['ENVIRONMENT_INVALID', -32603, false],
		['USAGE_WRONG', -32603, false],
		['SETTING_INVALID', -32603, false],
		['LISTEN_REFUSED', -32603, false],
		['AUTH_INVALID', -32603, false],
		['TLS_INVALID', -32603, false],
		['SCOPE_MISSING', -32600, true],
		['JOB_UNKNOWN', -32603, false],
		['JOB_RUNNING', -32603, false],
		['JOB_UNUSABLE', -32603, false],
		['SHUTTING_DOWN', -32603, true],
	]);
	const other = new Error('not ours');
	expect(toWireError(other)).toBe(other);
});
