import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {VERSION} from '../../src/shared/version.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {ProcessServer} from '../helpers/process-server.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {fileWith} from '../helpers/tokens.js';

describe('upgrade', () => {
	test('a server on a unix socket is replaced, with the same pid and its processes', async () => {
		const directory = scratchDirectory();
		const url = `unix:${join(directory, 's.sock')}`;
		const server = new Command(['serve', '--listen', url, '--state', join(directory, 'state')]);
		await server.url();
		const {stdout: id} = await run(['run', '-d', '-e', url, '--name', 'job', '--', 'sleep', '1000']);
		const upgraded = await run(['upgrade', '-e', url, '--to', PROGRAM]);
		expect(upgraded).toMatchObject({code: 0, stdout: `upgraded: version ${VERSION}\n`, stderr: ''});
		expect(JSON.parse((await run(['upgrade', '-e', url, '--json'])).stdout)).toEqual({version: VERSION});
		const listed: unknown = JSON.parse((await run(['ps', '-e', url, '--json'])).stdout);
		expect(listed).toMatchObject([{id: id.trim(), name: 'job', state: 'running'}]);
		expect(server.child.exitCode).toBeNull();
	});

	test('a program that cannot take over is refused, and the server goes on', async () => {
		const directory = scratchDirectory();
		const url = `unix:${join(directory, 's.sock')}`;
		await new Command(['serve', '--listen', url, '--state', join(directory, 'state')]).url();
		const {code, stdout, stderr} = await run(['upgrade', '-e', url, '--to', '/no/such/program.js']);
		expect([code, stdout]).toEqual([1, '']);
		expect(stderr).toMatch(
			/^error: \/no\/such\/program\.js: there is no such file .*\nhint: The server .* was not changed/,
		);
		const crashing = fileWith('throw new TypeError("not today");');
		const crashed = await run(['upgrade', '-e', url, '--to', crashing]);
		expect(crashed.stderr).toMatch(/it ended with 1 and said `TypeError: not today`\nhint: The message says/);
		expect(await run(['ps', '-e', url])).toMatchObject({code: 0});
	});

	test('over the network nobody may ask for it', async () => {
		const server = await ProcessServer.start();
		const {code, stdout, stderr} = await server.longarm('upgrade');
		expect([code, stdout]).toEqual([1, '']);
		expect(stderr).toMatch(
			/^error: a server is upgraded by SIGUSR2, or over its unix socket\nhint: .* kill -USR2 .*\n$/,
		);
	});
});
