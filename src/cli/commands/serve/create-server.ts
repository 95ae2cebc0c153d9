import {join} from 'node:path';
import type {Backend, SubreaperState} from '../../../processes/backends/backend.js';
import type {ChildLimits} from '../../../processes/backends/child-limits.js';
import {hideProcess} from '../../../processes/backends/linux/hide-process.js';
import {ignoreRealTimeSignals} from '../../../processes/backends/linux/ignore-signals.js';
import {selectBackend} from '../../../processes/backends/select-backend.js';
import {listKeeperRecords} from '../../../server/keeper/keeper-record.js';
import {ExecServer} from '../../../server/server.js';
import {listStateParts} from '../../../server/state/state-parts.js';
import type {Logger} from '../../../shared/logger.js';
import {stateHome} from '../../../shared/node/state-home.js';
import {listenSchemeOf} from '../../../transports/node/registry.js';
import type {AuditLog} from './audit-log.js';
import type {CredentialState} from './credential-frames.js';
import {doesOfferDaemon} from './daemon-handover.js';
import {listHiddenPaths} from './hidden-paths.js';
import {parseListenSetting} from './serve-endpoint.js';
import type {ServeHandoff, ServeState} from './serve-handoff.js';
import {API_KEY_VARIABLE, type Settings} from './serve-settings.js';
import {closeUninvitedInspector} from './serve-signals.js';
import {createUpgrade} from './upgrade-server.js';

/** The native part of the process backend is loaded once the server answers, so that it answers sooner. */
const WARM_UP_MS = 100;

export interface CreateOptions {
	readonly settings: Settings;
	readonly childLimits: ChildLimits;
	readonly logger: Logger;
	readonly audit: AuditLog | undefined;
	/** Descriptor of the listening socket; undefined where there is none. */
	readonly listeningFd: () => number | undefined;
	/** Credential for hubs that the next program cannot find by itself. */
	readonly credential: () => CredentialState | undefined;
	/** Browsers that are logged in to the console; undefined without one. */
	readonly consoleSessions: () => ServeState['consoleSessions'];
	/** Of the program that this one has taken the place of. */
	readonly handoff: ServeHandoff | undefined;
}

/**
 * The server that the settings describe; it goes on with what it was handed over. Everything it needs to hand over in turn
 * is loaded with it: the files of this program may be those of another version by then.
 */
export function createServer(options: CreateOptions): ExecServer {
	const {settings, childLimits, logger, listeningFd, credential, consoleSessions, handoff} = options;
	const childGroupPath = childLimits.group?.path;
	const secrets = settings.remote.length > 0 ? [API_KEY_VARIABLE] : [];
	const backend = createSubreaperBackend({
		logger,
		groupPath: childGroupPath,
		inherited: handoff?.state.subreaper,
		secrets,
	});
	const server = construct(options, backend);
	server.upgrade = createUpgrade({
		server,
		backend,
		listeningFd,
		listen: settings.listen,
		isRemote: settings.remote.length > 0,
		credential,
		consoleSessions,
		childGroupPath,
		logger,
	});
	if (handoff) {
		server.adopt(handoff.state.server, handoff.source);
		handoff.source.close();
	}
	const endsWithClient = doesEndWithClient(settings);
	// A directory that was asked for has to be usable; the default one is opened later, unless its first client may look for
	// processes that an earlier server has left to a keeper.
	if (settings.state !== undefined) server.openState();
	else if (hasKeepers()) server.restoreState(endsWithClient ? 'kept' : 'all');
	setTimeout(() => {
		backend();
		closeUninvitedInspector(logger);
		if (!endsWithClient) server.restoreState();
	}, WARM_UP_MS).unref();
	return server;
}

function doesEndWithClient({listen, protocol}: Settings): boolean {
	return listenSchemeOf(parseListenSetting(listen, protocol)).startsServer;
}

function hasKeepers(): boolean {
	const state = defaultState();
	return state !== undefined && listStateParts(state).some(part => listKeeperRecords(part).length > 0);
}

/** The address of a server, by which its next start finds the state again; empty where the address is chosen at the start. */
function nameServer({listen, protocol, remote, 'environment-id': id = ''}: Settings): string {
	const address = parseListenSetting(listen, protocol);
	const isChosen = address.kind === 'websocket' && address.port === 0;
	if (!isChosen) return listen;
	return remote.length > 0 ? ['remote', ...remote, id].join(' ') : '';
}

/** With a hub the stock variable holds the token of this machine, which is not for its processes. */
function listVariables({remote}: Settings): NodeJS.ProcessEnv {
	if (remote.length === 0) return process.env;
	const {[API_KEY_VARIABLE]: _, ...others} = process.env;
	return others;
}

function construct({settings, childLimits, logger, audit}: CreateOptions, backend: () => Backend): ExecServer {
	return new ExecServer({
		protocol: settings.protocol,
		detachedSessionMs: settings['detached-session'],
		stoppedPeerMs: settings['stopped-peer'],
		maxDetachedSessions: settings['max-detached-sessions'],
		retainBytes: settings['retain-bytes'],
		retainBytesTotal: settings['retain-bytes-total'],
		retainChunks: settings['retain-chunks'],
		retainClosedMs: settings['retain-closed'],
		maxProcesses: settings['max-processes'],
		maxProcessesPerSession: settings['max-processes-per-session'],
		allowDirectExec: settings['allow-direct-exec'],
		allowPreparedExec: settings['allow-prepared-exec'],
		maxReplyBytes: settings['max-reply'],
		allowForward: settings['allow-forward'],
		allowHttp: settings['allow-http'],
		httpVariables: settings['http-env'],
		shutdownGraceMs: settings['shutdown-grace'],
		childLimits,
		hiddenPaths: listHiddenPaths(settings),
		sandboxEnforcer: settings['sandbox-enforcer'],
		ownCommand: [process.execPath, process.argv[1]!],
		variables: listVariables(settings),
		backend,
		logger,
		audit: audit?.write,
		auditArguments: settings['audit-arguments'],
		servesConsole: settings.console,
		stateDirectory: settings.state ?? defaultState(),
		stateSharedAs: settings.state === undefined ? nameServer(settings) : undefined,
		endsWithClient: doesEndWithClient(settings),
		offersDaemon: doesOfferDaemon(settings),
		stateMaxAgeMs: settings['state-max-age'],
		stateMaxBytes: settings['state-max-size'],
		stateMaxProcesses: settings['state-max-processes'],
	});
}

/** Beside that of the local daemon. */
function defaultState(): string | undefined {
	const home = stateHome(process.env);
	return home && join(home, 'serve');
}

interface BackendOptions {
	readonly logger: Logger;
	readonly groupPath: string | undefined;
	readonly inherited: SubreaperState | undefined;
	/** Variables that are erased. */
	readonly secrets: readonly string[];
}

/** The process backend of a subreaper, set up when it is first needed. */
function createSubreaperBackend({logger, groupPath, inherited, secrets}: BackendOptions): () => Backend {
	let backend: Backend | undefined;
	return () => {
		if (!backend) {
			// Before the first child, which could look into this process otherwise.
			if (!hideProcess(secrets) && process.platform === 'linux') {
				logger.warn('other programs of this user can read the memory of this server');
			}
			ignoreRealTimeSignals();
			backend = selectBackend();
			if (backend.becomeSubreaper) backend.becomeSubreaper({logger, groupPath, inherited});
			else logger.warn('processes may outlive this server if it is killed', {backend: backend.name});
		}
		return backend;
	};
}
