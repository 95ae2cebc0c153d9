import {ProcessTable} from '../processes/process-table.js';
import {selectBackend} from '../processes/select-backend.js';
import {StartQueue} from '../processes/start-queue.js';
import type {Request} from '../protocol/envelope.js';
import {createRouter} from '../rpc/router.js';
import {LongarmError} from '../shared/errors.js';
import {LONGEST_TIMER_MS} from '../shared/limits.js';
import type {Transport} from '../transports/transport.js';
import {ClientConnection} from './client-connection.js';
import {describeEnvironment} from './environment-info.js';
import {createHandlers} from './handlers/index.js';
import {type ServerOptions, type ServerSettings, withDefaults} from './options.js';
import {type Session, Sessions} from './sessions.js';
import {toWire} from './wire-errors.js';

/** How long killed processes may take to be reaped before the server ends without them. */
const REAP_MS = 2000;
/** How long clients may take to make room for the last words of their processes. */
const LAST_WORDS_MS = 1000;

/** Serves the protocol on any number of transports. It listens on nothing itself. */
export class ExecServer {
	readonly #settings: ServerSettings;
	readonly #sessions: Sessions;
	readonly #clients = new Set<ClientConnection>();
	readonly #route: (request: Request, client: ClientConnection) => unknown;
	#ending: Promise<void> | undefined;

	constructor(options: ServerOptions = {}) {
		this.#settings = withDefaults(options);
		const {detachedSessionMs, logger, variables} = this.#settings;
		const starts = new StartQueue();
		this.#sessions = new Sessions({
			detachedSessionMs,
			logger,
			createTable: session => this.#createTable(session, starts),
		});
		const handlers = createHandlers(describeEnvironment(variables));
		const route = createRouter<ClientConnection>(handlers, (family, client) => client.admit(family));
		this.#route = translatingErrors(route);
	}

	/** Serves one connection until it closes. Its session outlives it for a while. */
	accept(transport: Transport): ClientConnection {
		const {logger} = this.#settings;
		const client = new ClientConnection(transport, {
			sessions: this.#sessions,
			logger,
			route: this.#route,
			closed: () => this.#clients.delete(client),
		});
		if (this.#ending) transport.destroy();
		this.#clients.add(client);
		client.rpc.open();
		logger.debug('connection accepted', {peer: transport.peer});
		return client;
	}

	/** Asks every process to end, kills what has not after the grace period, and hangs up. May be called again. */
	shutdown(graceMs: number = this.#settings.shutdownGraceMs): Promise<void> {
		this.#ending ??= this.#end(graceMs);
		return this.#ending;
	}

	/** Kills every process at once; for when there is no time left. */
	kill(): void {
		for (const session of this.#sessions) session.processes.end('force');
	}

	async #end(graceMs: number): Promise<void> {
		const sessions = [...this.#sessions];
		for (const session of sessions) session.processes.end('ask');
		await withinMs(Promise.all(sessions.map(session => session.processes.quiet())), graceMs);
		this.kill();
		await withinMs(Promise.all(sessions.map(session => session.processes.silent())), REAP_MS);
		await withinMs(Promise.all([...this.#clients].map(client => client.delivered())), LAST_WORDS_MS);
		for (const client of this.#clients) client.rpc.close();
		for (const session of sessions) this.#sessions.destroy(session);
	}

	#createTable(session: Session, starts: StartQueue): ProcessTable {
		const {retainBytes, retainChunks, retainClosedMs, variables, backend} = this.#settings;
		return new ProcessTable({
			backend: () => {
				if (this.#ending) throw new LongarmError('SHUTTING_DOWN', {message: 'the server is shutting down'});
				return backend ?? selectBackend();
			},
			starts,
			retention: {bytes: retainBytes, chunks: retainChunks},
			retainClosedMs,
			variables,
			added: process => session.added(process),
			changed: process => session.changed(process),
		});
	}
}

function translatingErrors<C>(
	route: (request: Request, client: C) => unknown,
): (request: Request, client: C) => unknown {
	return (request, client) => {
		try {
			const result = route(request, client);
			if (!(result instanceof Promise)) return result;
			return result.catch((error: unknown) => {
				throw toWire(error);
			});
		} catch (error) {
			throw toWire(error);
		}
	};
}

function withinMs(promise: Promise<unknown>, ms: number): Promise<unknown> {
	let timer: NodeJS.Timeout;
	const timeout = new Promise(resolve => {
		timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
	});
	return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
