import {closeSync, constants, openSync, readSync, writeSync} from 'node:fs';
import * as v from 'valibot';
import type {Backend} from '../../../processes/backends/backend.js';
import {hideProcess} from '../../../processes/backends/linux/hide-process.js';
import {ignoreRealTimeSignals} from '../../../processes/backends/linux/ignore-signals.js';
import {selectBackend} from '../../../processes/backends/select-backend.js';
import {refuseConfinedPeer} from '../../../server/confined-peers.js';
import {keeperPaths, removeKeeperFiles, writeKeeperRecord} from '../../../server/keeper/keeper-record.js';
import {KeeperRole} from '../../../server/keeper/keeper-role.js';
import {type KeeperSettings, keeperSettings} from '../../../server/keeper/keeper-settings.js';
import {KEEPER_READY} from '../../../server/keeper/launch-keeper.js';
import {ExecServer} from '../../../server/server.js';
import {Deferred} from '../../../shared/async/deferred.js';
import type {Logger} from '../../../shared/logger.js';
import {createLineLogger} from '../../../shared/node/line-logger.js';
import {VERSION} from '../../../shared/version.js';
import {listenOnUnixSocket} from '../../../transports/node/unix-listener.js';
import {collectGarbageWhenIdle} from '../../common/idle-gc.js';
import {EXIT} from '../../exit-codes.js';
import {waitForSignal} from '../serve/serve-signals.js';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const MAX_SETTINGS_BYTES = 16 * 1024 * 1024;
const READ_BYTES = 64 * 1024;
const LOG_MODE = 0o600;
/** How often a keeper looks whether it is of any use. */
const LOOK_EVERY_MS = 1000;
/** Looks in a row without a process and without a server, after which it ends. */
const MAX_IDLE_LOOKS = 5;
/** Output of one process in memory: all of it is on disk. */
const RETAINED_BYTES = 64 * 1024;
const RETAINED_CHUNKS = 256;
/** A process that has closed is of no use here: its files tell all. */
const RETAIN_CLOSED_MS = 1000;
/** Bounds are the server's. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/**
 * Runs durable processes for the servers of a state directory, one after the other, and so outlives them. Settings come on
 * standard input; it ends with its last process, when no server is there, or when it is asked to.
 */
export async function keep(): Promise<void> {
	const settings = readSettings();
	const {stateDirectory, generation} = settings;
	const logger = createLineLogger({level: 'warn', format: 'json'});
	const backend = leaveServer(settings, logger);
	const over = new Deferred<string>();
	const role = new KeeperRole(generation, () => over.resolve('asked by the server'));
	const server = createKeeperServer(settings, {backend, logger, role});
	const kill = (): void => server.kill();
	endOnCrash(kill, logger);
	// Servers are upgraded; a keeper stays the version that it is until it is empty.
	void waitForSignal({logger, kill, reload: undefined, upgrade: () => Promise.resolve()}).then(over.resolve);
	const listener = await listenOnUnixSocket({
		path: keeperPaths(stateDirectory, generation).socket,
		refuseLocalPeer: peer => server.refuseLocalPeer(peer, {hasToken: false}) ?? refuseConfinedPeer(peer, 'all'),
		accept: transport => void server.accept(transport),
	});
	writeKeeperRecord(stateDirectory, generation, VERSION);
	writeSync(STDOUT, `${KEEPER_READY}\n`);
	leaveStreams(keeperPaths(stateDirectory, generation).log);
	collectGarbageWhenIdle(logger);
	endWhenIdle(server, () => over.resolve('idle'));
	await over.promise;
	await server.shutdown();
	await listener.close();
	removeKeeperFiles(stateDirectory, generation);
}

/** Reads the line that the server sends; without a stream, so that nothing holds on to the descriptor. */
function readSettings(): KeeperSettings {
	const parts: Buffer[] = [];
	let size = 0;
	for (;;) {
		const part = Buffer.alloc(READ_BYTES);
		const length = readSync(STDIN, part);
		if (length === 0) break;
		size += length;
		if (size > MAX_SETTINGS_BYTES) throw new Error('too much input');
		parts.push(part.subarray(0, length));
	}
	const text = Buffer.concat(parts).toString();
	if (text.trim() === '') throw new Error('a keeper is started by longarm serve, for durable processes');
	return v.parse(keeperSettings, JSON.parse(text));
}

/** From here on the watchdog of the server does not find this process, and this one has a watchdog of its own. */
function leaveServer({groupPath}: KeeperSettings, logger: Logger): Backend {
	hideProcess();
	ignoreRealTimeSignals();
	const backend = selectBackend();
	if (!backend.becomeSubreaper) throw new Error(`${backend.name} cannot keep processes`);
	backend.becomeSubreaper({logger, leaves: {groupPath}});
	return backend;
}

function createKeeperServer(
	{childLimits, hiddenPaths, sandboxEnforcer, variables, stateDirectory}: KeeperSettings,
	{backend, logger, role}: {readonly backend: Backend; readonly logger: Logger; readonly role: KeeperRole},
): ExecServer {
	return new ExecServer(
		{
			childLimits,
			hiddenPaths: [...hiddenPaths, stateDirectory],
			sandboxEnforcer,
			variables,
			retainBytes: RETAINED_BYTES,
			retainChunks: RETAINED_CHUNKS,
			retainClosedMs: RETAIN_CLOSED_MS,
			maxProcesses: UNBOUNDED,
			backend: () => backend,
			logger,
		},
		role,
	);
}

/** The standard streams are the server's: they end with it, and it would wait for them. */
function leaveStreams(log: string): void {
	replaceDescriptor(STDIN, '/dev/null', constants.O_RDONLY);
	replaceDescriptor(STDOUT, '/dev/null', constants.O_WRONLY);
	replaceDescriptor(STDERR, log, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND);
}

/** The lowest free descriptor, which the next file gets, is the one that was just closed. */
function replaceDescriptor(fd: number, path: string, flags: number): void {
	closeSync(fd);
	openSync(path, flags, LOG_MODE);
}

function endWhenIdle(server: ExecServer, end: () => void): void {
	let looks = 0;
	setInterval(() => {
		looks = server.isIdle ? looks + 1 : 0;
		if (looks > MAX_IDLE_LOOKS) end();
	}, LOOK_EVERY_MS);
}

function endOnCrash(kill: () => void, logger: Logger): void {
	const fail = (error: unknown): void => {
		logger.error('unexpected failure, ending', {error: error instanceof Error ? error.stack : String(error)});
		kill();
		process.exit(EXIT.failed);
	};
	process.on('uncaughtException', fail);
	process.on('unhandledRejection', fail);
}
