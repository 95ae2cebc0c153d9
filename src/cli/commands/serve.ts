import {setTimeout} from 'node:timers/promises';
import type {Backend} from '../../processes/backend.js';
import {selectBackend} from '../../processes/select-backend.js';
import {ExecServer} from '../../server/server.js';
import type {Logger} from '../../shared/logger.js';
import {createLineLogger} from '../../shared/node/line-logger.js';
import {listen} from '../../transports/node/listener.js';
import {ownStdio} from '../../transports/node/stdio.js';
import type {Transport} from '../../transports/transport.js';
import {type ListenAddress, parseListenAddress} from '../listen-address.js';
import {keepMemorySmall} from '../memory-keeper.js';
import type {Settings} from '../settings.js';

/** The native part of the process backend is loaded once the server answers, so that it answers sooner. */
const WARM_UP_MS = 100;
/** How long whoever reads our stdout may take for the rest. */
const GOODBYE_MS = 1000;

/** Serves until a signal or, on stdio, the end of input; settles when every process has ended. */
export async function serve(settings: Settings): Promise<void> {
	const address = parseListenAddress(settings.listen, settings.protocol);
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
		backend,
		logger,
	});
	endWithTheProgram(server, logger);
	const asked = askedToEnd(server, logger);
	const front = await open(address, settings, server, logger);
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

interface Front {
	/** Settles when nobody can come any more. */
	readonly over: Promise<string>;
	close(): Promise<void>;
}

async function open(address: ListenAddress, settings: Settings, server: ExecServer, logger: Logger): Promise<Front> {
	if (address.kind === 'stdio') {
		const transport = ownStdio();
		return {
			over: untilClosed(server, transport),
			close: () => Promise.race([transport.flushed(), setTimeout(GOODBYE_MS)]),
		};
	}
	const listener = await listen({
		host: address.host,
		port: address.port,
		dangerouslyAllowNetwork: settings['dangerously-allow-unauthenticated-network'],
		maxConnections: settings['max-connections'],
		allowOrigins: settings['allow-origin'],
		pages: {
			'/healthz': () => ({type: 'application/json', body: `${JSON.stringify(server.health())}\n`}),
			'/metrics': () => ({type: 'text/plain; version=0.0.4; charset=utf-8', body: server.metrics()}),
		},
		accept: transport => server.accept(transport),
	});
	if (settings.protocol === 'v0') process.stderr.write(`codex-exec-server listening on ${listener.url}\n`);
	else process.stdout.write(`${listener.url}\n`);
	logger.info('listening', {url: listener.url, pid: process.pid});
	return {over: new Promise(() => {}), close: () => listener.close()};
}

function untilClosed(server: ExecServer, transport: Transport): Promise<string> {
	return new Promise(resolve => {
		server.accept(transport).scope.add(() => resolve('end of input'));
	});
}

/** The first signal ends the server gently, the second at once. */
function askedToEnd(server: ExecServer, logger: Logger): Promise<string> {
	return new Promise(resolve => {
		let asked = false;
		for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
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
