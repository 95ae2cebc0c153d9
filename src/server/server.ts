import type {Backend} from '../processes/backends/backend.js';
import {selectBackend} from '../processes/backends/select-backend.js';
import type {ManagedProcess} from '../processes/managed-process.js';
import {RetentionBudget} from '../processes/output/retention-budget.js';
import {ProcessQuota} from '../processes/process-quota.js';
import {ProcessTable} from '../processes/process-table.js';
import {StartQueue} from '../processes/start-queue.js';
import {killAllOrphans, killUnclaimedOrphans} from '../processes/tree/kill-tree.js';
import {Sandbox} from '../sandbox/sandbox.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {readOptions, type WithDurations} from '../shared/call-options.js';
import {LongarmError} from '../shared/errors.js';
import {silentLogger} from '../shared/logger.js';
import {VERSION} from '../shared/version.js';
import type {LocalPeer} from '../transports/node/peer-owner.js';
import type {Transport} from '../transports/transport.js';
import {Accounts} from './auth/accounts.js';
import type {Grant} from './auth/grant.js';
import {ClientConnection} from './connection/client-connection.js';
import {createDispatch} from './connection/dispatch.js';
import {WaitingRequests} from './connection/pending-requests.js';
import {type Session, Sessions} from './connection/sessions.js';
import {DEFAULTS, SERVER_OPTIONS, type ServerOptions, type ServerSettings} from './options.js';
import {refuseSandboxedPeer} from './sandboxed-peers.js';
import type {ServerContext} from './server-context.js';
import {ServerMetrics} from './server-metrics.js';

/** Shutdown waits this long for killed processes to be reaped. */
const REAP_TIMEOUT_MS = 2000;
/** Shutdown waits this long for clients to read the last output of their processes. */
const OUTPUT_DRAIN_TIMEOUT_MS = 1000;

/** Serves the protocol on any number of transports; the caller owns the listeners. */
export class ExecServer {
	readonly #settings: ServerSettings;
	readonly #sessions: Sessions;
	readonly #clients = new Set<ClientConnection>();
	readonly #tables = new Set<ProcessTable>();
	readonly #starts = new StartQueue();
	readonly #quota: ProcessQuota;
	readonly #budget: RetentionBudget;
	readonly #accounts: Accounts;
	readonly #metrics: ServerMetrics;
	readonly #sandbox: Sandbox;
	readonly #context: ServerContext;
	readonly #startedAt = performance.now();
	#shutdown: Promise<void> | undefined;
	#isDraining = false;
	/** When the last sandbox with a network ended; monotonic. */
	#sandboxEndedAt = Number.NEGATIVE_INFINITY;

	constructor(options: WithDurations<ServerOptions> = {}) {
		this.#settings = withDefaults(readOptions<ServerOptions>(options, SERVER_OPTIONS, 'ExecServer'));
		const {detachedSessionMs, stoppedPeerMs, maxDetachedSessions, logger, maxProcesses, protocol, retainBytesTotal} =
			this.#settings;
		this.#quota = new ProcessQuota(maxProcesses, 'this server');
		this.#budget = new RetentionBudget(retainBytesTotal);
		this.#accounts = new Accounts(this.#budget);
		this.#sessions = new Sessions({
			// In the first protocol processes end with their connection.
			detachedSessionMs: protocol === 'v0' ? 0 : detachedSessionMs,
			stoppedPeerMs: protocol === 'v0' ? 0 : stoppedPeerMs,
			maxDetachedSessions,
			logger,
			createTable: session => this.#createTable(session.owner, session),
		});
		this.#metrics = new ServerMetrics({
			connections: () => [...this.#clients].map(({transport}) => transport),
			sessions: () => this.#sessions.size,
			processes: () => this.#processes(),
			running: () => this.#quota.used,
			retainedBytes: () => this.#budget.totalBytes,
		});
		const {variables, hiddenPaths, sandboxEnforcer} = this.#settings;
		this.#sandbox = new Sandbox(variables, hiddenPaths, sandboxEnforcer);
		this.#context = {
			settings: this.#settings,
			sandbox: this.#sandbox,
			sessions: this.#sessions,
			dispatch: createDispatch(this.#settings, this.#sandbox, this.#metrics),
			waiting: new WaitingRequests(),
			backend: () => this.#backend(),
			createTable: (owner, session) => this.#createTable(owner, session),
		};
	}

	/**
	 * Serves one connection until it closes. Its session outlives it for a while. Without a `grant` everything is
	 * allowed. `user` is who connected, for the audit log.
	 */
	accept(transport: Transport, grant?: Grant, user?: number): ClientConnection {
		const {logger} = this.#settings;
		const leave = this.#accounts.connect(grant);
		const client = new ClientConnection(transport, this.#context, {
			grant,
			user,
			onClosed: () => {
				this.#clients.delete(client);
				leave();
			},
		});
		if (this.#shutdown) transport.destroy();
		this.#clients.add(client);
		this.#metrics.recordConnection(transport.kind);
		client.rpc.open();
		if (client.audit) client.audit.letIn();
		else logger.debug('connection accepted', {peer: transport.peer, ...(grant && {token: grant.name})});
		return client;
	}

	/** True if one more connection with this grant is within its limits. */
	hasRoom(grant: Grant): boolean {
		return this.#accounts.hasRoom(grant);
	}

	/**
	 * Why a connection from this machine is refused before it is accepted; undefined lets it in. Processes in sandboxes of
	 * this server are no clients of it, with or without a token.
	 */
	refuseLocalPeer(peer: LocalPeer, {hasToken}: {readonly hasToken: boolean}): string | undefined {
		if (process.platform !== 'linux') return undefined;
		const sinceSandboxMs = performance.now() - this.#sandboxEndedAt;
		return refuseSandboxedPeer(peer, this.#processes(), {hasToken, sinceSandboxMs});
	}

	/** Body of `/healthz`. */
	health(): Record<string, unknown> {
		return {
			status: this.#shutdown ? 'ending' : this.#isDraining ? 'draining' : 'ok',
			version: VERSION,
			uptimeSeconds: Math.round((performance.now() - this.#startedAt) / 1000),
			connections: this.#clients.size,
			sessions: this.#sessions.size,
			processes: this.#quota.used,
			retainedBytes: this.#budget.totalBytes,
		};
	}

	/** Body of `/metrics`, in the Prometheus text format. */
	metrics(): string {
		return this.#metrics.render();
	}

	/** Processes starting or running. */
	get runningProcesses(): number {
		return this.#quota.used;
	}

	/** Whether it is about to end; its listeners should turn new connections away. */
	get isDraining(): boolean {
		return this.#isDraining || this.#shutdown !== undefined;
	}

	/** Refuses new processes from now on; settles when the running ones have exited, after `limitMs` at the latest. */
	async drain(limitMs: number): Promise<void> {
		this.#isDraining = true;
		await waitAtMost(Promise.all([...this.#tables].map(table => table.allExited())), limitMs);
	}

	/** Asks all processes to end, kills the rest after the grace period, and closes all connections. Idempotent. */
	shutdown(graceMs: number = this.#settings.shutdownGraceMs): Promise<void> {
		this.#shutdown ??= this.#endAll(graceMs);
		return this.#shutdown;
	}

	/** Kills every process at once, without a grace period. */
	kill(): void {
		for (const table of this.#tables) table.endAll('force');
		killAllOrphans();
	}

	async #endAll(graceMs: number): Promise<void> {
		const tables = [...this.#tables];
		for (const table of tables) table.endAll('ask');
		await waitAtMost(Promise.all(tables.map(table => table.allExited())), graceMs);
		this.kill();
		await waitAtMost(Promise.all(tables.map(table => table.allClosed())), REAP_TIMEOUT_MS);
		await waitAtMost(
			Promise.all([...this.#clients].map(client => client.whenOutputFlushed())),
			OUTPUT_DRAIN_TIMEOUT_MS,
		);
		for (const client of this.#clients) client.rpc.close();
		for (const session of this.#sessions) this.#sessions.destroy(session);
	}

	/** Also called for a process that is forgotten while it is being killed. */
	#noteSandboxEnd({options, state}: ManagedProcess): void {
		if (options.isSandboxedWithNetwork && state.kind !== 'closed') this.#sandboxEndedAt = performance.now();
	}

	*#processes(): Iterable<ManagedProcess> {
		for (const table of this.#tables) yield* table;
	}

	#createTable(owner: Grant | undefined, session?: Session): ProcessTable {
		const {retainBytes, retainChunks, retainClosedMs, variables, maxProcessesPerSession, logger, childLimits} =
			this.#settings;
		const {account, leave} = this.#accounts.open(owner);
		const table = new ProcessTable({
			backend: () => {
				if (this.#isDraining) throw shuttingDownError('the server is about to end and starts no more processes');
				return this.#backend();
			},
			starts: this.#starts,
			retention: {bytes: retainBytes, chunks: retainChunks, budget: account?.retained ?? this.#budget},
			retainClosedMs,
			variables,
			limits: childLimits,
			quotas: [
				this.#quota,
				...(account ? [account.processes] : []),
				new ProcessQuota(maxProcessesPerSession, 'this session'),
			],
			isRetained: process => session?.isRetained(process) ?? false,
			exited: process => {
				this.#noteSandboxEnd(process);
				this.#metrics.recordExit(process);
				const {exitCode, reason} = process.log.exit!;
				logger.debug('process exited', {session: session?.id, process: process.id, pid: process.pid, exitCode, reason});
			},
			removed: process => {
				this.#noteSandboxEnd(process);
				this.#metrics.recordRemoval(process);
			},
			disposed: () => {
				this.#tables.delete(table);
				if (this.#tables.size === 0) killUnclaimedOrphans();
				leave();
			},
		});
		this.#tables.add(table);
		return table;
	}

	#backend(): Backend {
		if (this.#shutdown) throw shuttingDownError('the server is shutting down');
		return this.#settings.backend();
	}
}

function shuttingDownError(message: string): LongarmError {
	return new LongarmError('SHUTTING_DOWN', {message});
}

function withDefaults(options: ServerOptions): ServerSettings {
	return {variables: process.env, backend: selectBackend, logger: silentLogger, ...DEFAULTS, ...options};
}
