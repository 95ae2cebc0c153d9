// covers: src/hub, src/transports/node/relay
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {environmentVia, type RunningHub, runningHub} from '../helpers/hubs.js';
import {unless} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const CODEX = process.env['CODEX_BIN'];
const NEEDS_PEER = unless(CODEX === undefined ? 'the stock peer is installed by npm run test:interop' : undefined);

/** A stock executor that registers with a hub, when it is online; ended with the test. */
async function stockExecutor(hub: RunningHub, environmentId: string): Promise<void> {
	const child = spawn(CODEX!, ['exec-server', '--remote', hub.url, '--environment-id', environmentId], {
		env: {PATH: process.env['PATH'], CODEX_HOME: scratchDirectory(), CODEX_API_KEY: hub.executorToken},
		stdio: ['ignore', 'ignore', 'inherit'],
	});
	onTestFinished(async () => {
		if (child.exitCode === null && child.kill()) await once(child, 'exit');
	});
	await eventually(() => hub.hub.relay.findExecutor(environmentId) !== undefined);
}

test('a stock executor is reached through the hub: commands, files and a terminal', NEEDS_PEER, async () => {
	const hub = await runningHub();
	await stockExecutor(hub, 'devbox');
	const box = environmentVia(hub, 'devbox');
	const {stdout, exitCode} = await box.shell('seq 1 5000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([5001, 3]);
	// Stock servers give every terminal the same size.
	const terminal = await box.run(['sh', '-c', 'stty size'], {tty: {rows: 30, cols: 90}});
	expect(terminal.stdout.text).toContain('24 80');
	const content = Buffer.alloc(1024 * 1024, 'longarm ');
	const path = `/tmp/longarm-hub-stock-${process.pid}`;
	await box.files.writeFile(path, content);
	expect(Buffer.from(await box.files.readFile(path)).equals(content)).toBe(true);
	await box.files.remove(path);
});

test('a stock executor is reached by a plain client through the gateway', NEEDS_PEER, async () => {
	const hub = await runningHub({hasGateway: true});
	await stockExecutor(hub, 'devbox');
	const url = `${hub.url.replace('http', 'ws')}/environments/devbox`;
	const box = Environment.remote('devbox', {kind: 'websocket', url, token: hub.clientToken});
	onTestFinished(() => box.close());
	const {stdout, exitCode} = await box.shell('seq 1 5000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([5001, 3]);
});
