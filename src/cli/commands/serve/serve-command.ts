import type {ExecServer} from '../../../server/server.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import type {Logger, LogLevel} from '../../../shared/logger.js';
import {toKernelTime} from '../../../shared/node/kernel-clock.js';
import {OTHER_RUNTIME} from '../../../shared/node/other-runtime.js';
import {VERSION} from '../../../shared/version.js';
import {type ListenAddress, listenSchemeOf} from '../../../transports/node/registry.js';
import {collectGarbageWhenIdle} from '../../common/idle-gc.js';
import {EXIT} from '../../exit-codes.js';
import {openAuditLog} from './audit-log.js';
import {readChildLimits} from './child-limit-settings.js';
import type {CredentialState} from './credential-frames.js';
import {whenIdleFor} from './idle-exit.js';
import {readSecurity} from './security.js';
import {openNoEndpoint, openServeEndpoint, parseListenSetting, type ServeEndpoint} from './serve-endpoint.js';
import {HANDOFF_VARIABLE, type ServeHandoff, type ServeState} from './serve-handoff.js';
import {createServeLogger} from './serve-logger.js';
import type {RemoteAcceptor, RemoteServing} from './serve-remote.js';
import {invalidSetting, type Settings} from './serve-settings.js';
import {waitForSignal} from './serve-signals.js';

/** Settings without a meaning for a server that no hub knows of. */
const REMOTE_ONLY = [
	'environment-id',
	'token-file',
	'registration-bearer-stdin',
	'executor-credential-stdin',
	'exit-on-stdin-close',
	'remote-ca-file',
	'remote-tls-fingerprint',
	'key-file',
	'allow-harness-key',
	'slots',
] as const;

/** Serves until a signal or, on stdio, the end of input; settles when every process has ended. */
export async function serve(settings: Settings): Promise<void> {
	if (OTHER_RUNTIME !== undefined) throw runtimeError(OTHER_RUNTIME);
	const handoff = await findHandoff();
	const address = parseListenSetting(settings.listen, settings.protocol);
	const level = selectLogLevel(settings, address);
	const logger = createServeLogger(settings, level);
	const security = await readSecurity(settings, address, logger);
	const audit = await openAuditLog(settings, logger, level);
	const childLimits = readChildLimits(settings, logger, handoff?.state.childGroupPath);
	const created = new Deferred<ExecServer>();
	let server: ExecServer | undefined;
	const kill = (): void => server?.kill();
	killOnCrash(kill, logger);
	let endpoint: ServeEndpoint | undefined;
	const reloads = security.reloads || audit?.reopen !== undefined;
	const asked = waitForSignal({
		logger,
		kill,
		reload: reloads ? () => endpoint?.reload() : undefined,
		upgrade: () => upgrade(created.promise, logger),
	});
	const listeningFd = handoff?.state.listeningFd;
	const acceptor = created.promise.then(toAcceptor);
	const remote = await openRemote(settings, acceptor, logger, handoff?.state.credential);
	endpoint =
		remote && settings.listen === 'auto'
			? openNoEndpoint(security, logger, audit)
			: await openServeEndpoint(address, {
					settings,
					security,
					server: created.promise,
					logger,
					audit,
					listeningFd,
					consoleSessions: handoff?.state.consoleSessions,
				});
	if (await Promise.race([endpoint.isHandedOver, asked.then(() => false)])) {
		await Promise.race([asked, endpoint.over]);
		return endpoint.close();
	}
	// Every setting was checked; clients connect while the rest is loaded.
	const {createServer} = await import('./create-server.js');
	const running = createServer({
		settings,
		childLimits,
		logger,
		audit,
		listeningFd: () => endpoint.fd,
		credential: () => remote?.handOver(),
		consoleSessions: () => endpoint.console?.handOver(),
		handoff,
	});
	server = running;
	if (handoff) logUpgrade(handoff.state, running, logger);
	await running.whenRestored();
	created.resolve(running);
	collectGarbageWhenIdle(logger, () => listMemoryHolders(running));
	const reason = await Promise.race([
		asked.then(signal => ({signal})),
		endpoint.over,
		...(remote ? [remote.over] : []),
		...(settings['exit-idle'] > 0 ? [whenIdleFor(running, settings['exit-idle'])] : []),
	]);
	if (typeof reason === 'string') logger.info('shutting down', {reason});
	// The caller of a server on stdio ends its input; a signal comes from another program.
	else logger[listenSchemeOf(address).startsServer ? 'warn' : 'info']('shutting down', {reason: reason.signal});
	remote?.leavePools();
	if (typeof reason !== 'string' && reason.signal === 'SIGTERM' && settings.drain > 0) {
		const fields = {processes: running.runningProcesses, limitMs: settings.drain};
		logger.info(`draining: no new connections${remote ? '' : ' and processes'}`, fields);
		await Promise.race([drain(running, settings.drain, remote !== undefined), endpoint.over]);
		logger.info('drained', {processes: running.runningProcesses});
	}
	remote?.close();
	await running.shutdown();
	await endpoint.close();
}

function toAcceptor(server: ExecServer): RemoteAcceptor {
	return {
		commands: server.commands,
		accept: (transport, isPlaced) => server.accept(transport, undefined, undefined, isPlaced),
	};
}

/** Clients that hubs have sent may still start what they came for; of all others the processes that run are waited for. */
async function drain(server: ExecServer, limitMs: number, isRemote: boolean): Promise<void> {
	const deadline = performance.now() + limitMs;
	if (isRemote) await server.retire(limitMs);
	await server.drain(Math.max(0, deadline - performance.now()));
}

/** Undefined for a server that no hub knows of. */
async function openRemote(
	settings: Settings,
	acceptor: Promise<RemoteAcceptor>,
	logger: Logger,
	inherited: CredentialState | undefined,
): Promise<RemoteServing | undefined> {
	if (settings.remote.length > 0)
		return (await import('./serve-remote.js')).openRemoteServing(settings, acceptor, logger, inherited);
	const given = {...settings, pool: settings.pool.length > 0, label: Object.keys(settings.label).length > 0};
	const useless = [...REMOTE_ONLY, 'pool' as const, 'label' as const].find(
		name => given[name] !== undefined && given[name] !== false,
	);
	if (useless !== undefined) throw invalidSetting(`--${useless} goes with --remote`);
	return undefined;
}

/** The state of the program that this one has taken the place of; undefined for a server that was started. */
async function findHandoff(): Promise<ServeHandoff | undefined> {
	const fd = process.env[HANDOFF_VARIABLE];
	delete process.env[HANDOFF_VARIABLE];
	return fd === undefined ? undefined : (await import('./take-handoff.js')).takeHandoff(Number(fd));
}

function logUpgrade({version, writtenAt}: ServeState, server: ExecServer, logger: Logger): void {
	const {sessions, processes} = server.health();
	const ms = Math.round(toKernelTime(performance.now()) - writtenAt);
	logger.info('upgraded', {from: version, to: VERSION, pid: process.pid, sessions, processes, ms});
}

/** A server that is being loaded is upgraded once it is. */
async function upgrade(loaded: Promise<ExecServer>, logger: Logger): Promise<void> {
	try {
		await (await loaded).upgrade?.({});
	} catch (error) {
		logger.error('not upgraded, the server goes on', {
			reason: errorMessage(error),
			...(error instanceof LongarmError && {code: error.code}),
		});
	}
}

/** Figures of the server that fall when it lets go of memory. */
function listMemoryHolders(server: ExecServer): number[] {
	const {connections, sessions, processes, retainedBytes} = server.health();
	return [connections, sessions, processes, retainedBytes].map(Number);
}

function runtimeError(runtime: string): Error {
	return new Error(
		`longarm serve does not run under ${runtime}, where its processes could outlive it: start it with Node`,
	);
}

/** Kills all children when this program fails unexpectedly. */
function killOnCrash(kill: () => void, logger: Logger): void {
	const fail = (error: unknown): void => {
		logger.error('unexpected failure, ending', {error: error instanceof Error ? error.stack : String(error)});
		kill();
		process.exit(EXIT.failed);
	};
	process.on('uncaughtException', fail);
	process.on('unhandledRejection', fail);
}

/** Where the client sees our standard error, only what needs attention is logged. */
function selectLogLevel(settings: Settings, address: ListenAddress): LogLevel {
	const level = settings['log-level'];
	if (level !== 'auto') return level;
	return listenSchemeOf(address).startsServer ? 'warn' : 'info';
}
