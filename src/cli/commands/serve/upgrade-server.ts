import {closeSync, existsSync} from 'node:fs';
import {resolve} from 'node:path';
import type {Backend} from '../../../processes/backends/backend.js';
import type {ExecServer} from '../../../server/server.js';
import type {UpgradeRequest} from '../../../server/server-context.js';
import {LongarmError} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {HandoffWriter} from '../../../shared/node/handoff-file.js';
import {instanceId} from '../../../shared/node/instance-id.js';
import {toKernelTime} from '../../../shared/node/kernel-clock.js';
import {osErrorText} from '../../../shared/node/os-error.js';
import {replaceProgram} from '../../../shared/node/replace-program.js';
import {VERSION} from '../../../shared/version.js';
import {askNextProgram, type ServeCommand} from './ask-next-program.js';
import type {CredentialState} from './credential-frames.js';
import {HANDOFF_VARIABLE, type ServeState} from './serve-handoff.js';

/** Time for clients to take what was sent to them. */
const MAX_QUIET_WAIT_MS = 2000;
const LISTEN_FLAG = '--listen';

export interface UpgradedServer {
	readonly server: ExecServer;
	readonly backend: () => Backend;
	/** Descriptor of its listening socket; undefined where there is none. */
	readonly listeningFd: () => number | undefined;
	/** The setting that it listens by. */
	readonly listen: string;
	/** Whether it is reached through hubs, which it connects to by itself. */
	readonly isRemote: boolean;
	readonly credential: () => CredentialState | undefined;
	/** Browsers that are logged in to the console; undefined without one. */
	readonly consoleSessions: () => ServeState['consoleSessions'];
	/** Control group that limits the children. */
	readonly childGroupPath: string | undefined;
	readonly logger: Logger;
}

/**
 * Makes this process another version of itself: same pid, so children stay children, the socket goes on listening, and
 * sessions can be resumed. Settles only with an error; the server goes on as before then.
 */
export async function upgradeServer(upgraded: UpgradedServer, {to}: UpgradeRequest = {}): Promise<never> {
	const {server, logger} = upgraded;
	const backend = upgraded.backend();
	requireHandover(upgraded, backend);
	const command = nextCommand(to, upgraded.listen);
	logger.info('upgrading', {program: command.program.at(-1), version: VERSION});
	await askNextProgram(backend, command);
	const {isQuiet, isOutputKept, resume} = await server.quiesce(MAX_QUIET_WAIT_MS);
	try {
		if (!isOutputKept) throw upgradeError('output of a terminal is still being read; try again');
		if (!isQuiet) logger.warn('upgrading although a client does not read what it was sent');
		becomeNext(upgraded, backend, command);
	} finally {
		resume();
	}
}

/** One upgrade at a time. */
export function createUpgrade(upgraded: UpgradedServer): (request: UpgradeRequest) => Promise<void> {
	let isUnderWay = false;
	return async request => {
		if (isUnderWay) throw upgradeError('an upgrade is being prepared already');
		isUnderWay = true;
		try {
			await upgradeServer(upgraded, request);
		} finally {
			isUnderWay = false;
		}
	};
}

function requireHandover({server, listeningFd, isRemote}: UpgradedServer, backend: Backend): void {
	if (!backend.handOver?.() || !backend.adopt) {
		throw upgradeError(`processes cannot be handed over by this backend (${backend.name}), only by that of Linux`);
	}
	if (listeningFd() === undefined && !isRemote)
		throw upgradeError('a server on stdio has one client, and ends with it');
	if (server.isDraining) throw upgradeError('the server is about to end');
}

/** The socket stays where it is: that is settled by a flag, whatever a settings file says by now. */
function nextCommand(to: string | undefined, listen: string): ServeCommand {
	const entry = to === undefined ? process.argv[1]! : resolve(to);
	if (!existsSync(entry)) throw upgradeError(`${entry}: there is no such file on the machine of the server`);
	const words = process.argv.slice(2);
	const isSettled = words.some(word => word === LISTEN_FLAG || word.startsWith(`${LISTEN_FLAG}=`));
	return {
		file: process.execPath,
		program: [process.argv0, ...process.execArgv, entry],
		words: isSettled ? words : [...words, LISTEN_FLAG, listen],
	};
}

/** One step, in which nothing else happens: the state is that of the moment in which this program ends. */
function becomeNext(upgraded: UpgradedServer, backend: Backend, {file, program, words}: ServeCommand): never {
	requireHandover(upgraded, backend);
	const writer = new HandoffWriter();
	const subreaper = backend.handOver!()!;
	const {lifeline} = subreaper.watchdog;
	if (lifeline !== undefined) writer.keep(lifeline);
	const listeningFd = upgraded.listeningFd();
	const state: ServeState = {
		pid: process.pid,
		version: VERSION,
		writtenAt: toKernelTime(performance.now()),
		instanceId: instanceId(),
		listeningFd: listeningFd === undefined ? undefined : writer.keep(listeningFd),
		credential: upgraded.credential(),
		consoleSessions: upgraded.consoleSessions(),
		subreaper,
		childGroupPath: upgraded.childGroupPath,
		server: upgraded.server.handOver(writer),
	};
	const fd = writer.writeFile(state);
	const errno = replaceProgram({
		file,
		argv: [...program, ...words],
		environment: {...process.env, [HANDOFF_VARIABLE]: String(fd)},
		descriptors: writer.descriptors,
	});
	closeSync(fd);
	throw upgradeError(`the system refuses to run ${file}: ${osErrorText(errno)}`);
}

function upgradeError(message: string): LongarmError {
	return new LongarmError('UPGRADE_FAILED', {message});
}
