// covers: src/cli/commands/bridge
import {existsSync} from 'node:fs';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import type {ExecServer} from '../../src/server/server.js';
import {silentLogger} from '../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys} from '../../src/shared/noise/hybrid-ik.js';
import {ExecutorLink} from '../../src/transports/node/relay/executor-link.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import type {Transport} from '../../src/transports/transport.js';
import {Command, PROGRAM} from '../helpers/command.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';

const DEVBOX_KEYS = createNoiseKeys(nodeNoiseCrypto);

function bridgeVariables({clientToken}: RunningHub): Record<string, string> {
	return {
		LONGARM_EXEC_SERVER_TOKEN: clientToken,
		LONGARM_HOME: scratchDirectory(),
		XDG_STATE_HOME: scratchDirectory(),
	};
}

/** An environment whose client starts the bridge and knows nothing of the hub. */
function bridged(hub: RunningHub, environmentId: string): Environment {
	const environment = Environment.remote(environmentId, {
		kind: 'command',
		program: process.execPath,
		args: [PROGRAM, 'bridge', `registry+${hub.url}/${environmentId}`],
		env: bridgeVariables(hub),
	});
	onTestFinished(() => environment.close());
	return environment;
}

test('a client on stdio reaches a machine behind a hub: commands, files and large values', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const box = bridged(hub, 'devbox');
	const {stdout, exitCode} = await box.shell('seq 1 20000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([20_001, 3]);
	const path = `${scratchDirectory()}/file`;
	const content = Buffer.alloc(3 * 1024 * 1024, 'longarm ');
	await box.files.writeFile(path, content);
	expect(Buffer.from(await box.files.readFile(path)).equals(content)).toBe(true);
});

test('a client that cannot reconnect sees no lost connection: every line comes once, and its input arrives once', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const box = bridged(hub, 'devbox');
	const script = 'for i in $(seq 1 300); do echo $i; read line; echo "got $line"; done';
	const child = await box.start(['sh', '-c', script], {stdin: true});
	let text = '';
	let asked = 0;
	for await (const piece of child.output()) {
		if (piece.kind !== 'output') throw new Error('a gap');
		text += Buffer.from(piece.bytes).toString();
		const lines = text.split('\n').slice(0, -1);
		for (; asked < lines.filter(line => /^\d+$/.test(line)).length; asked++) {
			if (asked % 60 === 30) cut(hub, asked % 120 === 30);
			await child.write(`${asked + 1}\n`);
		}
	}
	expect(text).toBe(Array.from({length: 300}, (_, index) => `${index + 1}\ngot ${index + 1}\n`).join(''));
	expect(await child.exited).toMatchObject({exitCode: 0});
});

test('output that came while there was no connection arrives whole, also if it is more than one answer holds', async () => {
	const hub = await runningHub();
	const {server, link} = await servingFromDisk(hub);
	const box = bridged(hub, 'devbox');
	const bytes = 6 * 1024 * 1024;
	const script = `echo ready; read line; head -c ${bytes} /dev/zero | tr '\\0' x; touch "$line"; exec sleep 1000`;
	const child = await box.start(['sh', '-c', script], {stdin: true, spill: true});
	const output = child.output()[Symbol.asyncIterator]();
	await output.next();
	const written = `${scratchDirectory()}/written`;
	await child.write(`${written}\n`);
	link.close();
	await eventually(() => existsSync(written));
	await onlineAgain(hub, server);
	let received = 0;
	while (received < bytes) {
		const {value} = (await output.next()) as {value: {kind: string; bytes: Uint8Array}};
		expect(value.kind).toBe('output');
		received += value.bytes.length;
	}
	expect(received).toBe(bytes);
	await child.terminate();
});

test('a session that is gone for good ends the bridge with a reason', async () => {
	const hub = await runningHub();
	const {server, link} = await runningExecutor(hub, 'devbox');
	const bridge = new Command(['bridge', `registry+${hub.url}/devbox`], {env: bridgeVariables(hub)});
	bridge.child.stdin.write('{"id":1,"method":"initialize","params":{"clientName":"test"}}\n');
	await bridge.until(() => bridge.stdout.includes('sessionId'), 'the answer');
	bridge.child.stdin.write('{"method":"initialized","params":{}}\n');
	await server.shutdown(0);
	link.close();
	// Another machine comes in its place, and knows nothing of the session.
	await runningExecutor(hub, 'devbox');
	const {code} = await bridge.ended;
	expect([code, bridge.stderr]).toEqual([1, expect.stringContaining('failed to resume exec-server session')]);
});

test('the end of its input ends the bridge, and an environment that cannot be meant is refused', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const bridge = new Command(['bridge', `registry+${hub.url}/devbox`], {env: bridgeVariables(hub)});
	bridge.child.stdin.end('{"id":1,"method":"initialize","params":{"clientName":"test"}}\n');
	expect(await bridge.ended).toMatchObject({code: 0});
	const wrong = new Command(['bridge', 'local']);
	expect(await wrong.ended).toMatchObject({code: 2});
});

/** Cuts the socket of the client or that of the executor. */
function cut({hub}: RunningHub, isClient: boolean): void {
	const executor = hub.relay.findExecutor('devbox');
	const harness = executor && [...executor.streams.values()][0];
	if (isClient) harness?.socket.destroy(new Error('cut'));
	else executor?.socket.destroy(new Error('cut'));
}

/** A server behind a hub that keeps all output on disk. */
async function servingFromDisk(hub: RunningHub): Promise<{readonly server: ExecServer; readonly link: ExecutorLink}> {
	const server = execServer({stateDirectory: scratchDirectory()});
	return {server, link: await onlineAgain(hub, server)};
}

/** Connects a server to the hub, once more or for the first time. */
async function onlineAgain({hub, url, executorToken}: RunningHub, server: ExecServer): Promise<ExecutorLink> {
	const registry = new RegistryClient({url, environmentId: 'devbox', token: () => executorToken});
	const accept = (transport: Transport): void => void server.accept(transport);
	const link = new ExecutorLink({registry, keys: DEVBOX_KEYS, accept, logger: silentLogger});
	void link.run();
	onTestFinished(() => link.close());
	await eventually(() => hub.relay.findExecutor('devbox') !== undefined);
	return link;
}
