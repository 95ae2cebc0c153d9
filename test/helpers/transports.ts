// The matrices of tests that have to pass locally and over every transport. Servers and environments end with the test.
import {spawn} from 'node:child_process';
import {onTestFinished} from 'vitest';
import type {Connect} from '../../src/client/session/session-client.js';
import {Environment} from '../../src/environments/environment.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {connectCommand} from '../../src/transports/node/connect-command.js';
import {connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import {Command, PROGRAM} from './command.js';
import {connectVia, type RunningHub, runningExecutor, runningHub} from './hubs.js';
import {eventually} from './processes.js';
import {scratchDirectory} from './scratch.js';
import {execServer, serving} from './serving.js';

/** The upstream server, where it is installed; `npm run test:interop` installs it. */
const codex = process.env['CODEX_BIN'];

/** Every transport: each entry starts a server and returns the function that connects to it. */
export const TRANSPORTS: Readonly<Record<string, () => Promise<Connect>>> = {
	memory: async () => {
		const server = execServer();
		return async () => {
			const [near, far] = memoryTransportPair();
			server.accept(far);
			return near;
		};
	},
	stdio: async () => () => connectStdio(process.execPath, [PROGRAM, 'serve', '--listen', 'stdio']),
	WebSocket: async () => {
		const {url} = await serving();
		return signal => connectWebSocket(url, {signal});
	},
	hub: async () => {
		const hub = await runningHub();
		await runningExecutor(hub, 'machine');
		return connectVia(hub, 'machine');
	},
	...(codex && {
		'hub to the stock codex server': async () => {
			const hub = await runningHub();
			await startUpstreamExecutor(codex, hub, 'machine');
			return connectVia(hub, 'machine');
		},
		'WebSocket to the stock codex server': async () => {
			const url = await startUpstreamServer(codex);
			return signal => connectWebSocket(url, {signal});
		},
		'stdio to the stock codex server': async () => () => connectStdio(codex, ['exec-server', '--listen', 'stdio']),
	}),
};

/** The local environment, and a remote one over every transport. */
export const ENVIRONMENTS: Readonly<Record<string, () => Promise<Environment>>> = {
	'this machine': async () => closeWithTest(Environment.local()),
	...Object.fromEntries(
		Object.entries(TRANSPORTS).map(([name, listen]) => [
			name,
			async () => {
				const recovers = !name.startsWith('stdio');
				return closeWithTest(Environment.remote('remote', {kind: 'transport', connect: await listen(), recovers}));
			},
		]),
	),
};

/** Every kind of target of the command line, as its arguments. */
export const CLI_TARGETS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
	'this machine': async () => [],
	WebSocket: async () => ['-e', await new Command(['serve', '--log-level', 'warn']).url()],
	'a command': async () => ['-e', `cmd:${process.execPath} ${PROGRAM} serve --listen stdio`],
};

export function closeWithTest(environment: Environment): Environment {
	onTestFinished(() => environment.close());
	return environment;
}

async function connectStdio(program: string, args: readonly string[]): ReturnType<Connect> {
	const transport = await connectCommand(program, {args, env: {CODEX_HOME: scratchDirectory()}});
	onTestFinished(() => transport.destroy());
	return transport;
}

/** The upstream server behind a hub, when it is online; ended with the test. */
export async function startUpstreamExecutor(
	program: string,
	{hub, url, executorToken}: RunningHub,
	environmentId: string,
): Promise<void> {
	const child = spawn(program, ['exec-server', '--remote', url, '--environment-id', environmentId], {
		// It makes the helper of its sandbox below its home, unless that is in the temporary directory.
		env: {...process.env, CODEX_HOME: scratchDirectory(), TMPDIR: scratchDirectory(), CODEX_API_KEY: executorToken},
		stdio: 'ignore',
	});
	onTestFinished(() => void child.kill('SIGKILL'));
	await eventually(() => hub.relay.findExecutor(environmentId) !== undefined);
}

/**
 * The upstream server at an address of its own, which it settles with. For sandboxes it needs a TMPDIR that its home is not
 * in.
 */
export async function startUpstreamServer(program: string, variables: NodeJS.ProcessEnv = {}): Promise<string> {
	const child = spawn(program, ['exec-server', '--listen', 'ws://127.0.0.1:0'], {
		env: {...process.env, CODEX_HOME: scratchDirectory(), ...variables},
	});
	onTestFinished(() => void child.kill('SIGKILL'));
	return new Promise(resolve => {
		child.stdout.on('data', (data: Buffer) => resolve(String(data).trim()));
	});
}
