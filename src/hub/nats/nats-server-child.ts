import {type ChildProcess, spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {type AddressInfo, connect, createServer} from 'node:net';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {makeDirectories, readTextFile, replaceFile} from '../../processes/spill/state-files.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';

const PROGRAM = 'nats-server';
const CONFIG_FILE = 'nats-server.conf';
const PID_FILE = 'nats-server.pid';
const TOKEN_BYTES = 32;
const MAX_CONFIG_CHARS = 64 * 1024;
/** How long the server may take until it accepts connections, and to end. */
const START_TIMEOUT_MS = 20_000;
const END_TIMEOUT_MS = 10_000;
const LOOK_AGAIN_MS = 20;
const MAX_ERROR_CHARS = 2000;

/** A NATS server that runs for one hub, on loopback. */
export interface NatsChild {
	readonly url: string;
	/** The secret that lets clients in, so that other users of this machine stay outside. */
	readonly token: string;
	close(): Promise<void>;
}

/** Starts `nats-server` of the PATH with JetStream in `directory`; throws `NATS_UNUSABLE`. */
export async function startNatsServer(directory: string, logger: Logger): Promise<NatsChild> {
	makeDirectories(directory);
	const settings = await openSettings(directory);
	const url = `nats://127.0.0.1:${settings.port}`;
	if (await isListening(settings.port)) {
		// It was left by a hub that was killed, and lets in nobody else.
		logger.info('the NATS server of an earlier hub is used', {url});
		return {url, token: settings.token, close: async () => endByFile(join(directory, PID_FILE))};
	}
	// The token is in a file that only the owner reads, not among the arguments.
	const child = spawn(PROGRAM, ['-c', settings.path], {stdio: ['ignore', 'ignore', 'pipe']});
	let problem = '';
	child.stderr.on('data', (chunk: Buffer) => {
		problem = (problem + chunk.toString()).slice(-MAX_ERROR_CHARS);
	});
	await waitUntilListening(child, settings.port, () => problem);
	logger.info('started a NATS server', {url, pid: child.pid});
	child.once('exit', code => logger.warn('the NATS server has ended', {code}));
	return {url, token: settings.token, close: () => endChild(child)};
}

interface ServerSettings {
	readonly path: string;
	readonly port: number;
	readonly token: string;
}

/** The same port and token at every start, so that a server that is left from an earlier one can be used. */
async function openSettings(directory: string): Promise<ServerSettings> {
	const path = join(directory, CONFIG_FILE);
	if (existsSync(path)) {
		const text = readTextFile(path, MAX_CONFIG_CHARS);
		const port = Number(/^port: (\d+)$/m.exec(text)?.[1]);
		const token = /token: "(\w+)"/.exec(text)?.[1];
		if (port > 0 && token !== undefined) return {path, port, token};
	}
	const port = await findFreePort();
	const token = randomBytes(TOKEN_BYTES).toString('hex');
	const lines = [
		'host: 127.0.0.1',
		`port: ${port}`,
		`pid_file: ${JSON.stringify(join(directory, PID_FILE))}`,
		`authorization { token: "${token}" }`,
		`jetstream { store_dir: ${JSON.stringify(join(directory, 'jetstream'))} }`,
	];
	replaceFile(path, `${lines.join('\n')}\n`);
	return {path, port, token};
}

async function findFreePort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const {port} = server.address() as AddressInfo;
	server.close();
	await once(server, 'close');
	return port;
}

function isListening(port: number): Promise<boolean> {
	return new Promise(resolve => {
		const socket = connect(port, '127.0.0.1');
		// The server speaks first.
		socket.once('data', greeting => {
			socket.destroy();
			resolve(greeting.toString('latin1').startsWith('INFO '));
		});
		socket.once('error', () => resolve(false));
		socket.setTimeout(1000, () => {
			socket.destroy();
			resolve(false);
		});
	});
}

async function waitUntilListening(child: ChildProcess, port: number, problem: () => string): Promise<void> {
	let failure: NodeJS.ErrnoException | undefined;
	child.once('error', error => {
		failure = error;
	});
	const deadline = performance.now() + START_TIMEOUT_MS;
	while (!(await isListening(port))) {
		const isGone = failure !== undefined || child.exitCode !== null;
		if (!isGone && performance.now() < deadline) {
			await delay(LOOK_AGAIN_MS);
			continue;
		}
		child.kill('SIGKILL');
		if (failure?.code === 'ENOENT') {
			throw new LongarmError('NATS_UNUSABLE', {
				message: `${PROGRAM} is not on the PATH; install it (apt install nats-server, brew install nats-server), or name a server with --nats URL`,
			});
		}
		throw new LongarmError('NATS_UNUSABLE', {message: `${PROGRAM} does not start: ${failure?.message ?? problem()}`});
	}
}

/** Ends a server that another hub has started: its own file says which process it is. */
function endByFile(path: string): void {
	try {
		process.kill(Number(readTextFile(path, MAX_CONFIG_CHARS).trim()), 'SIGTERM');
	} catch {
		// It has ended by itself.
	}
}

async function endChild(child: ChildProcess): Promise<void> {
	child.removeAllListeners('exit');
	if (child.exitCode !== null || child.signalCode !== null) return;
	const ended = once(child, 'exit');
	child.kill('SIGTERM');
	await waitAtMost(ended, END_TIMEOUT_MS);
	if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
}
