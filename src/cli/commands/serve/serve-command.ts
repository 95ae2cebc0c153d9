import {isatty} from 'node:tty';
import type {ExecServer} from '../../../server/server.js';
import {Deferred} from '../../../shared/async/deferred.js';
import type {Logger} from '../../../shared/logger.js';
import {createLineLogger} from '../../../shared/node/line-logger.js';
import {type ListenAddress, listenSchemeOf} from '../../../transports/node/registry.js';
import {collectGarbageWhenIdle} from '../../common/idle-gc.js';
import {EXIT} from '../../exit-codes.js';
import {readChildLimits} from './child-limit-settings.js';
import {readSecurity} from './security.js';
import {openServeEndpoint, parseListenSetting, type ServeEndpoint} from './serve-endpoint.js';
import type {Settings} from './serve-settings.js';

const STDERR = 2;

/** Serves until a signal or, on stdio, the end of input; settles when every process has ended. */
export async function serve(settings: Settings): Promise<void> {
	const address = parseListenSetting(settings.listen, settings.protocol);
	const security = await readSecurity(settings, address);
	const logger = createLogger(settings, address);
	const childLimits = readChildLimits(settings, logger);
	const created = new Deferred<ExecServer>();
	let server: ExecServer | undefined;
	const kill = (): void => server?.kill();
	killOnCrash(kill, logger);
	const asked = waitForSignal(kill, logger, security.reloads ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP']);
	let endpoint: ServeEndpoint | undefined;
	if (security.reloads) process.on('SIGHUP', () => endpoint?.reload());
	endpoint = await openServeEndpoint(address, {settings, security, server: created.promise, logger});
	// Every setting was checked; clients connect while the rest is loaded.
	const {createServer} = await import('./create-server.js');
	server = createServer(settings, childLimits, logger);
	created.resolve(server);
	collectGarbageWhenIdle(logger);
	const reason = await Promise.race([asked, endpoint.over]);
	logger.info('shutting down', {reason});
	await server.shutdown();
	await endpoint.close();
}

/** The first signal ends the server gently, the second at once. */
function waitForSignal(kill: () => void, logger: Logger, signals: readonly NodeJS.Signals[]): Promise<string> {
	return new Promise(resolve => {
		let asked = false;
		for (const signal of signals) {
			process.on(signal, () => {
				if (asked) {
					logger.warn('asked again, ending at once', {signal});
					kill();
					process.exit(EXIT.ok);
				}
				asked = true;
				resolve(signal);
			});
		}
	});
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
function createLogger(settings: Settings, address: ListenAddress): Logger {
	const level = settings['log-level'];
	const format = settings['log-format'];
	return createLineLogger({
		level: level === 'auto' ? (listenSchemeOf(address).startsServer ? 'warn' : 'info') : level,
		format: format === 'auto' ? (isatty(STDERR) ? 'pretty' : 'json') : format,
	});
}
