import {spawn} from 'node:child_process';
import {onTestFinished} from 'vitest';
import type {Connect} from '../../src/client/session/session-client.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {connectCommand} from '../../src/transports/node/connect-command.js';
import {connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import {scratchDirectory} from './scratch.js';
import {execServer, serving} from './serving.js';

/** The built command. */
const COMMAND = new URL('../../dist/bin/longarm.js', import.meta.url).pathname;
/** The peer's own server, where it is installed; `npm run test:interop` sees to that. */
const codex = process.env['CODEX_BIN'];

/** Each makes a server that ends with the test and says how to get to it. */
export const LINKS: Readonly<Record<string, () => Promise<Connect>>> = {
	memory: async () => {
		const server = execServer();
		return async () => {
			const [near, far] = memoryTransportPair();
			server.accept(far);
			return near;
		};
	},
	stdio: async () => () => command(process.execPath, [COMMAND, 'serve', '--listen', 'stdio']),
	WebSocket: async () => {
		const {url} = await serving();
		return signal => connectWebSocket(url, {signal});
	},
	...(codex && {
		'WebSocket to the stock codex server': () => stockWebSocket(codex),
		'stdio to the stock codex server': async () => () => command(codex, ['exec-server', '--listen', 'stdio']),
	}),
};

async function command(program: string, args: readonly string[]): ReturnType<Connect> {
	const transport = await connectCommand(program, {args, env: {CODEX_HOME: scratchDirectory()}});
	onTestFinished(() => transport.destroy());
	return transport;
}

async function stockWebSocket(program: string): Promise<Connect> {
	const child = spawn(program, ['exec-server', '--listen', 'ws://127.0.0.1:0'], {
		env: {...process.env, CODEX_HOME: scratchDirectory()},
	});
	onTestFinished(() => void child.kill('SIGKILL'));
	const url = await new Promise<string>(resolve => {
		child.stdout.on('data', (data: Buffer) => resolve(String(data).trim()));
	});
	return signal => connectWebSocket(url, {signal});
}
