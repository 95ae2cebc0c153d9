// covers: src/cli/commands/bridge
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {Command, PROGRAM} from '../helpers/command.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {scratchDirectory} from '../helpers/scratch.js';

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
