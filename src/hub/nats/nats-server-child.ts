import {type ChildProcess, execFile, spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {promisify} from 'node:util';
import {openOwnDirectory} from '../../processes/spill/own-directory.js';
import {readTextFile, replaceFile} from '../../processes/spill/state-files.js';
import {readProc} from '../../processes/tree/proc.js';
import {signalProcess} from '../../processes/tree/signals.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {createSelfSigned, type SelfSignedIdentity} from '../../transports/node/self-signed-certificate.js';
import {isOlderThan} from './nats-link.js';
import {FIRST_SYNCING_NATS} from './nats-sync.js';

const PROGRAM = 'nats-server';
const CONFIG_FILE = 'nats-server.conf';
const PID_FILE = 'nats-server.pid';
const CERTIFICATE_FILE = 'nats-server.crt';
const KEY_FILE = 'nats-server.key';
const HOST = '127.0.0.1';
/** Names that clients may check the certificate for: Node takes the second one where it is given an address. */
const CERTIFICATE_NAMES = [HOST, 'localhost'];
/** The certificate must outlive the server, which gets another one at the next start. */
const CERTIFICATE_DAYS = 3650;
/** How long a client may take for the TLS handshake, in seconds; on a busy machine the default of NATS is too short. */
const TLS_TIMEOUT_S = 10;
const TOKEN_BYTES = 32;
const MAX_FILE_CHARS = 64 * 1024;
/** How long the server may take until it accepts connections, and to end. */
const START_TIMEOUT_MS = 20_000;
const END_TIMEOUT_MS = 10_000;
const POLL_MS = 20;
const VERSION_TIMEOUT_MS = 10_000;
/** Everything is written to disk before it is acknowledged. */
const SYNC_SETTING = 'sync_interval: always';
const MAX_ERROR_CHARS = 2000;

/** A NATS server that runs for one hub, on loopback. */
export interface NatsChild {
	readonly url: string;
	/** The secret that lets clients in, so that other users of this machine stay outside. */
	readonly token: string;
	/**
	 * Certificate of this server and no other, in PEM. Clients must check it before they send the token: any process can listen
	 * on the port as soon as this server has ended.
	 */
	readonly certificate: string;
	/** Whether it writes to disk before it acknowledges. */
	readonly isSynced: boolean;
	close(): Promise<void>;
}

/** Starts `nats-server` of the PATH with JetStream in `directory`, with a new port, token and key; throws `NATS_UNUSABLE`. */
export async function startNatsServer(directory: string, logger: Logger): Promise<NatsChild> {
	openOwnDirectory(directory);
	const path = join(directory, CONFIG_FILE);
	await endLeftover(directory, logger);
	const token = randomBytes(TOKEN_BYTES).toString('hex');
	const identity = createSelfSigned(CERTIFICATE_NAMES, new Date(), CERTIFICATE_DAYS);
	const isSynced = await canSync();
	writeSettings(directory, {token, identity, isSynced});
	// The token is in a file that only the owner reads, not among the arguments.
	const child = spawn(PROGRAM, ['-c', path], {stdio: ['ignore', 'ignore', 'pipe']});
	let problem = '';
	child.stderr.on('data', (chunk: Buffer) => {
		problem = (problem + chunk.toString()).slice(-MAX_ERROR_CHARS);
	});
	const url = `nats://${HOST}:${await findPort(child, directory, () => problem)}`;
	logger.info('started a NATS server', {url, pid: child.pid});
	child.once('exit', code => logger.warn('the NATS server has ended', {code}));
	return {url, token, certificate: identity.cert, isSynced, close: () => endChild(child)};
}

interface ServerSettings {
	readonly token: string;
	readonly identity: SelfSignedIdentity;
	readonly isSynced: boolean;
}

/** The server chooses a free port itself and names it in a file: nobody else can take that port in between. */
function writeSettings(directory: string, {token, identity, isSynced}: ServerSettings): void {
	const fileOf = (name: string): string => JSON.stringify(join(directory, name));
	const store = `store_dir: ${fileOf('jetstream')}`;
	const lines = [
		`host: ${HOST}`,
		'port: -1',
		`ports_file_dir: ${JSON.stringify(directory)}`,
		`pid_file: ${fileOf(PID_FILE)}`,
		`authorization { token: "${token}" }`,
		`tls { cert_file: ${fileOf(CERTIFICATE_FILE)}, key_file: ${fileOf(KEY_FILE)}, timeout: ${TLS_TIMEOUT_S} }`,
		`jetstream { ${isSynced ? `${store}, ${SYNC_SETTING}` : store} }`,
	];
	replaceFile(join(directory, CERTIFICATE_FILE), identity.cert);
	replaceFile(join(directory, KEY_FILE), identity.key);
	replaceFile(join(directory, CONFIG_FILE), `${lines.join('\n')}\n`);
}

/** Whether the server on the PATH knows the setting; an older one would not start with it. */
async function canSync(): Promise<boolean> {
	try {
		const {stdout} = await promisify(execFile)(PROGRAM, ['--version'], {timeout: VERSION_TIMEOUT_MS});
		const version = /v?(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
		return version !== undefined && !isOlderThan(version, FIRST_SYNCING_NATS);
	} catch {
		// Its start says why it cannot be run.
		return false;
	}
}

/** The port that a server that was just started has chosen. */
async function findPort(child: ChildProcess, directory: string, problem: () => string): Promise<number> {
	let failure: NodeJS.ErrnoException | undefined;
	child.once('error', error => {
		failure = error;
	});
	const deadline = performance.now() + START_TIMEOUT_MS;
	for (;;) {
		const port = child.pid === undefined ? undefined : readPort(portsFileOf(directory, child.pid));
		const isGone = failure !== undefined || child.exitCode !== null;
		if (port !== undefined && !isGone) return port;
		if (!isGone && performance.now() < deadline) {
			await delay(POLL_MS);
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

/** The file that a server writes when it listens, and removes when it ends. */
function portsFileOf(directory: string, pid: number): string {
	return join(directory, `${PROGRAM}_${pid}.ports`);
}

/** Undefined as long as the file is missing or not complete. */
function readPort(path: string): number | undefined {
	try {
		const {nats} = JSON.parse(readTextFile(path, MAX_FILE_CHARS)) as {readonly nats: readonly string[]};
		const port = Number(/:(\d+)$/.exec(nats[0]!)?.[1]);
		return port > 0 ? port : undefined;
	} catch {
		return undefined;
	}
}

/** Ends the server of a hub that was killed: two servers must not use the same files. */
async function endLeftover(directory: string, logger: Logger): Promise<void> {
	const pid = readPid(join(directory, PID_FILE));
	if (pid === undefined) return;
	const isRunning = (): Promise<boolean> => runsWithConfig(pid, join(directory, CONFIG_FILE));
	if (await isRunning()) {
		logger.info('ending the NATS server of an earlier hub', {pid});
		signalProcess(pid, 'SIGTERM');
		const deadline = performance.now() + END_TIMEOUT_MS;
		while (await isRunning()) {
			if (performance.now() >= deadline) signalProcess(pid, 'SIGKILL');
			await delay(POLL_MS);
		}
	}
	// A server that was killed could not remove it, and its process id may be used again.
	rmSync(portsFileOf(directory, pid), {force: true});
}

function readPid(path: string): number | undefined {
	if (!existsSync(path)) return undefined;
	const pid = Number(readTextFile(path, MAX_FILE_CHARS).trim());
	return Number.isInteger(pid) && pid > 0 ? pid : undefined;
}

/** Whether a process with this id is a server with this configuration; the id alone may belong to any other process by now. */
async function runsWithConfig(pid: number, config: string): Promise<boolean> {
	try {
		if (existsSync('/proc/self/cmdline')) return readProc(`${pid}/cmdline`).split('\0').includes(config);
		const {stdout} = await promisify(execFile)('ps', ['-o', 'args=', '-p', String(pid)]);
		return stdout.trimEnd().endsWith(config);
	} catch {
		return false;
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
