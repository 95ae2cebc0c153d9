import {setTimeout} from 'node:timers/promises';
import type {Backend} from '../../processes/backend.js';
import {selectBackend} from '../../processes/select-backend.js';
import {ExecServer} from '../../server/server.js';
import type {Logger} from '../../shared/logger.js';
import {createLineLogger} from '../../shared/node/line-logger.js';
import {childLimitsOf} from '../child-limits.js';
import {type Front, openFront} from '../front.js';
import {parseListenAddress} from '../listen-address.js';
import {keepMemorySmall} from '../memory-keeper.js';
import {readSecurity} from '../security.js';
import type {Settings} from '../settings.js';

/** The native part of the process backend is loaded once the server answers, so that it answers sooner. */
const WARM_UP_MS = 100;

/** Serves until a signal or, on stdio, the end of input; settles when every process has ended. */
export async function serve(settings: Settings): Promise<void> {
	const address = parseListenAddress(settings.listen, settings.protocol);
	const security = readSecurity(settings, address);
	const logger = createLogger(settings);
	const backend = inCharge(logger);
	const server = new ExecServer({
		protocol: settings.protocol,
		detachedSessionMs: settings['detached-session'],
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
		shutdownGraceMs: settings['shutdown-grace'],
		childLimits: childLimitsOf(settings, logger),
		ownCommand: [process.execPath, process.argv[1]!],
		backend,
		logger,
	});
	endWithTheProgram(server, logger);
	const asked = askedToEnd(server, logger, security.reloads ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP']);
	let front: Front | undefined;
	if (security.reloads) process.on('SIGHUP', () => front?.reload());
	front = await openFront(address, {settings, security, server, logger});
	void setTimeout(WARM_UP_MS, undefined, {ref: false}).then(backend);
	keepMemorySmall(logger);
	const reason = await Promise.race([asked, front.over]);
	logger.info('shutting down', {reason});
	await server.shutdown();
	await front.close();
}

/** The backend of a program that answers for everything below it, set up when it is first needed. */
function inCharge(logger: Logger): () => Backend {
	let backend: Backend | undefined;
	return () => {
		if (!backend) {
			backend = selectBackend();
			if (backend.takeCharge) backend.takeCharge();
			else logger.warn('processes may outlive this server if it is killed', {backend: backend.name});
		}
		return backend;
	};
}

/** The first signal ends the server gently, the second at once. */
function askedToEnd(server: ExecServer, logger: Logger, signals: readonly NodeJS.Signals[]): Promise<string> {
	return new Promise(resolve => {
		let asked = false;
		for (const signal of signals) {
			process.on(signal, () => {
				if (asked) {
					logger.warn('asked again, ending at once', {signal});
					server.kill();
					process.exit(0);
				}
				asked = true;
				resolve(signal);
			});
		}
	});
}

/** A defect of ours must not leave the children of others behind. */
function endWithTheProgram(server: ExecServer, logger: Logger): void {
	const fail = (error: unknown): void => {
		logger.error('unexpected failure, ending', {error: error instanceof Error ? error.stack : String(error)});
		server.kill();
		process.exit(1);
	};
	process.on('uncaughtException', fail);
	process.on('unhandledRejection', fail);
	// Whoever read our address may stop reading afterwards.
	process.stdout.on('error', () => {});
}

function createLogger(settings: Settings): Logger {
	const format = settings['log-format'];
	return createLineLogger({
		level: settings['log-level'],
		format: format === 'auto' ? (process.stderr.isTTY ? 'pretty' : 'json') : format,
	});
}
