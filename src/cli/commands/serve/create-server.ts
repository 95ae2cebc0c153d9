import type {Backend} from '../../../processes/backends/backend.js';
import type {ChildLimits} from '../../../processes/backends/child-limits.js';
import {hideProcess} from '../../../processes/backends/linux/hide-process.js';
import {ignoreRealTimeSignals} from '../../../processes/backends/linux/ignore-signals.js';
import {selectBackend} from '../../../processes/backends/select-backend.js';
import {ExecServer} from '../../../server/server.js';
import type {Logger} from '../../../shared/logger.js';
import type {AuditLog} from './audit-log.js';
import {listHiddenPaths} from './hidden-paths.js';
import type {Settings} from './serve-settings.js';
import {closeUninvitedInspector} from './serve-signals.js';

/** The native part of the process backend is loaded once the server answers, so that it answers sooner. */
const WARM_UP_MS = 100;

/** The server that the settings describe. */
export function createServer(
	settings: Settings,
	childLimits: ChildLimits,
	logger: Logger,
	audit: AuditLog | undefined,
): ExecServer {
	const backend = createSubreaperBackend(logger, childLimits.group?.path);
	setTimeout(() => {
		backend();
		closeUninvitedInspector(logger);
	}, WARM_UP_MS).unref();
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
		backend,
		logger,
		audit: audit?.write,
		auditArguments: settings['audit-arguments'],
	});
}

/** The process backend of a subreaper, set up when it is first needed. */
function createSubreaperBackend(logger: Logger, groupPath: string | undefined): () => Backend {
	let backend: Backend | undefined;
	return () => {
		if (!backend) {
			// Before the first child, which could look into this process otherwise.
			if (!hideProcess() && process.platform === 'linux') {
				logger.warn('other programs of this user can read the memory of this server');
			}
			ignoreRealTimeSignals();
			backend = selectBackend();
			if (backend.becomeSubreaper) backend.becomeSubreaper({logger, groupPath});
			else logger.warn('processes may outlive this server if it is killed', {backend: backend.name});
		}
		return backend;
	};
}
