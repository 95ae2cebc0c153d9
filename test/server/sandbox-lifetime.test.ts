import {spawn} from 'node:child_process';
import {createInterface} from 'node:readline';
import {pathToFileURL} from 'node:url';
import {beforeAll, expect, onTestFinished, test} from 'vitest';
import type {EnforcerName} from '../../src/sandbox/enforcer.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {ownCommand} from '../helpers/own-command.js';
import {eventually} from '../helpers/processes.js';
import {workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {listRunningWith} from '../helpers/subreaper.js';
import {TestClient} from '../helpers/test-client.js';

let command: readonly string[];
beforeAll(async () => {
	const built = await ownCommand();
	command = built.command;
	return built.remove;
});

/** The command as a program of its own, with a sandboxed process and a file operation in a sandbox under way. */
async function busy(mark: string, enforcer: EnforcerName) {
	const [program, ...args] = command;
	const settings = ['--log-level', 'warn', '--sandbox-enforcer', enforcer];
	const server = spawn(program!, [...args, 'serve', ...settings], {stdio: ['ignore', 'pipe', 'inherit']});
	onTestFinished(() => void server.kill('SIGKILL'));
	const url = await new Promise<string>(resolve => createInterface(server.stdout).once('line', resolve));
	const client = await (await TestClient.overWebSocket(url)).initialize();
	const directory = scratchDirectory();
	const sandbox = workspacePolicy(directory);
	const script = `setsid -f sleep ${mark}; trap '' TERM HUP; sleep ${mark}; :`;
	await client.sh('p', script, {sandbox});
	await client.sh('t', script, {sandbox, tty: true});
	await client.call('fs/getMetadata', {path: pathToFileURL(directory).href, sandbox});
	await eventually(() => listRunningWith(mark).length === 4);
	return {server, client};
}

describeEnforcers('a server with sandboxes', enforcer => {
	test.each(['SIGKILL', 'SIGTERM'] as const)('leaves nothing when it gets %s', async signal => {
		const mark = `1000.${process.pid}${Date.now()}`;
		const {server} = await busy(mark, enforcer);
		expect(listRunningWith(command[1]!).length).toBeGreaterThan(1);
		server.kill(signal);
		await eventually(() => listRunningWith(mark).length === 0 && listRunningWith(command[1]!).length === 0);
	});

	test('promises to sandbox files, since it can', async () => {
		const {client} = await busy(`1000.${process.pid}${Date.now()}`, enforcer);
		expect(await client.call('environment/info')).toMatchObject({capabilities: {sandboxedFileStreaming: true}});
	});
});
