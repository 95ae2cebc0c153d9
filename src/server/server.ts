import type {Backend} from '../processes/backends/backend.js';
import {selectBackend} from '../processes/backends/select-backend.js';
import {loadRoot, storeRoot} from '../processes/handoff/process-record.js';
import {InputBudget} from '../processes/input-budget.js';
import type {ManagedProcess} from '../processes/managed-process.js';
import {RetentionBudget} from '../processes/output/retention-budget.js';
import {ProcessCount, ProcessQuota} from '../processes/process-quota.js';
import {ProcessTable} from '../processes/process-table.js';
import {StartQueue} from '../processes/start-queue.js';
import {endAllOrphans, endOrphansUntilGone, endUnclaimedOrphans} from '../processes/tree/end-tree.js';
import {killTree} from '../processes/tree/kill-tree.js';
import {type ListHidden, Sandbox} from '../sandbox/sandbox.js';
import {WRITTEN_ROOTS} from '../sandbox/written-roots.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {readOptions, type WithDurations} from '../shared/call-options.js';
import {silentLogger} from '../shared/logger.js';
import type {HandoffSink, HandoffSource} from '../shared/node/handoff-file.js';
import {fromKernelTime, toKernelTime} from '../shared/node/kernel-clock.js';
import {VERSION} from '../shared/version.js';
import type {LocalPeer} from '../transports/node/peer-owner.js';
import type {Transport} from '../transports/transport.js';
import {Accounts} from './auth/accounts.js';
import {type Grant, grantOf} from './auth/grant.js';
import {refuseConfinedPeer} from './confined-peers.js';
import {AccountShares} from './connection/account-shares.js';
import {ClientConnection} from './connection/client-connection.js';
import {createDispatch} from './connection/dispatch.js';
import {WaitingRequests} from './connection/pending-requests.js';
import {RequestTurns} from './connection/request-turns.js';
import {type Session, Sessions} from './connection/sessions.js';
import {Drain, OUTPUT_DRAIN_TIMEOUT_MS, REAP_TIMEOUT_MS, shuttingDownError, whenUnused} from './drain.js';
import {adoptSharing, handOverSharing, restoreMembers, type SharingParts} from './handoff/hand-over-sharing.js';
import {quiesce, type Rest} from './handoff/quiesce.js';
import type {MemberRecord, ServerRecord} from './handoff/server-record.js';
import {isUnfinished} from './keeper/keeper-handlers.js';
import type {KeeperRole} from './keeper/keeper-role.js';
import {Keepers} from './keeper/keepers.js';
import {DEFAULTS, SERVER_OPTIONS, type ServerOptions, type ServerSettings} from './options.js';
import {refuseSandboxedPeer, SandboxWatch} from './sandboxed-peers.js';
import type {ServerContext, TableUse, UpgradeRequest} from './server-context.js';
import {ServerMetrics} from './server-metrics.js';
import {ShareTokens} from './sharing/share-tokens.js';
import {SharedProcesses} from './sharing/shared-processes.js';
import {DiskWaits} from './state/disk-waits.js';
import {ServerState} from './state/server-state.js';

/** Serves the protocol on any number of transports; the caller owns the listeners. */
export class ExecServer {
	readonly #settings: ServerSettings;
	readonly #sessions: Sessions;
	readonly #clients = new Set<ClientConnection>();
	readonly #tables = new Set<ProcessTable>();
	readonly #starts = new StartQueue();
	readonly #quota: ProcessQuota;
	/** Processes that clients have started, for slots: those that prepare another process are no work of their own. */
	readonly commands = new ProcessCount();
	readonly #budget: RetentionBudget;
	readonly #input = new InputBudget();
	/** For processes of clients without a token, who count as one owner. */
	readonly #anonymousInput = new InputBudget(this.#input);
	readonly #accounts: Accounts;
	readonly #metrics: ServerMetrics;
	readonly #sandbox: Sandbox;
	readonly #registry = new SharedProcesses(owner => this.#createTable(owner, 'kept'));
	readonly #shares = new ShareTokens();
	readonly #diskWaits: DiskWaits;
	readonly #state: ServerState;
	readonly #keepers: Keepers;
	/** Set in a keeper. */
	readonly #keeperRole: KeeperRole | undefined;
	readonly #context: ServerContext;
	readonly #startedAt = performance.now();
	/** Replaces this server by another version of it; undefined where that is not possible. */
	upgrade: ((request: UpgradeRequest) => Promise<void>) | undefined;
	/** Sessions that used durable processes of the program that this one has taken the place of. */
	#absentMembers: readonly MemberRecord[] = [];
	#shutdown: Promise<void> | undefined;
	readonly #drain = new Drain();
	readonly #sandboxes = new SandboxWatch();

	/** `keeperRole` makes it the server of a keeper. */
	constructor(options: WithDurations<ServerOptions> = {}, keeperRole?: KeeperRole) {
		this.#keeperRole = keeperRole;
		this.#settings = withDefaults(readOptions<ServerOptions>(options, SERVER_OPTIONS, 'ExecServer'));
		const {detachedSessionMs, stoppedPeerMs, maxDetachedSessions, logger, maxProcesses, protocol, retainBytesTotal} =
			this.#settings;
		this.#quota = new ProcessQuota(maxProcesses, 'this server');
		this.#budget = new RetentionBudget(retainBytesTotal);
		this.#accounts = new Accounts({retained: this.#budget, input: this.#input});
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
			diskWaits: () => this.#diskWaits,
		});
		const {variables, hiddenPaths, sandboxEnforcer} = this.#settings;
		this.#diskWaits = new DiskWaits(logger);
		this.#state = this.#createState();
		this.#keepers = this.#createKeepers();
		const listHidden: ListHidden = canHide => [...hiddenPaths, ...this.#state.prepareHiding(canHide)];
		this.#sandbox = new Sandbox(variables, listHidden, sandboxEnforcer);
		this.#context = {
			settings: this.#settings,
			sandbox: this.#sandbox,
			sessions: this.#sessions,
			registry: this.#registry,
			shares: this.#shares,
			metrics: this.#metrics,
			upgrade: () => this.upgrade,
			keepers: this.#keepers,
			dispatch: createDispatch(this.#settings, {
				sandbox: this.#sandbox,
				metrics: this.#metrics,
				keepers: this.#keepers,
				keeperRole,
			}),
			waiting: new WaitingRequests(),
			accountShares: new AccountShares(),
			turns: new RequestTurns(),
			backend: () => this.#backend(),
			createTable: (owner, use) => this.#createTable(owner, use),
		};
	}

	/**
	 * Serves one connection until it closes. Its session outlives it for a while. Without a `grant` everything is
	 * allowed. `user` is who connected, for the audit log; `isExpected` lets a client that was let in before `retire` begin.
	 */
	accept(transport: Transport, grant?: Grant, user?: number, isExpected = false): ClientConnection {
		const {logger} = this.#settings;
		const leave = this.#accounts.connect(grant);
		const client = new ClientConnection(transport, this.#context, {
			grant,
			user,
			isLate: this.#drain.isBegun && !isExpected,
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

	/** Opens the state directory now instead of when it is needed; throws STATE_UNUSABLE. */
	openState(): void {
		this.#state.open();
	}

	/** Finds the processes of earlier servers; with `kept`, only those that run, without use of the state directory. */
	restoreState(which: 'all' | 'kept' = 'all'): void {
		return which === 'all' ? this.#state.openIfPresent() : this.#state.findKept();
	}

	/** Settles when the durable processes of earlier servers are known, as far as their keepers answer. */
	async whenRestored(): Promise<void> {
		await this.#keepers.whenFound();
		this.#absentMembers = restoreMembers(this.#absentMembers, this.#parts);
	}

	/** No client is connected, and no process runs or has open streams. */
	get isIdle(): boolean {
		return this.#clients.size === 0 && ![...this.#processes()].some(isUnfinished);
	}

	/** Grant of a token that was handed out for one process; undefined for any other. */
	findShare(token: string): Grant | undefined {
		return this.#shares.find(token);
	}

	/** Ends the shares of tokens that are no longer good, and their connections. */
	recheckShares(isGood: (grant: Grant) => boolean): void {
		this.#shares.recheck(isGood);
	}

	/**
	 * Why a connection from this machine is refused before it is accepted; undefined lets it in. Processes in sandboxes of
	 * this server are no clients of it, with or without a token, and those in sandboxes of other longarm programs none without.
	 */
	refuseLocalPeer(peer: LocalPeer, {hasToken}: {readonly hasToken: boolean}): string | undefined {
		if (process.platform !== 'linux') return undefined;
		return this.#refuseOwnSandbox(peer, hasToken) ?? (hasToken ? undefined : refuseConfinedPeer(peer, 'longarm'));
	}

	#refuseOwnSandbox(peer: LocalPeer, hasToken: boolean): string | undefined {
		if (this.#sandboxes.isOver) return undefined;
		const sinceSandboxMs = this.#sandboxes.sinceEndMs;
		return refuseSandboxedPeer(peer, this.#processes(), {hasToken, sinceSandboxMs, keepers: this.#keepers.pids});
	}

	/** Body of `/healthz`. */
	health(): Record<string, unknown> {
		return {
			status: this.#shutdown ? 'ending' : this.#drain.isBegun ? 'draining' : 'ok',
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
		return this.#drain.isBegun || this.#shutdown !== undefined;
	}

	/** Refuses new sessions from now on; settles when no client uses the server, after `limitMs` at the latest. */
	async retire(limitMs: number): Promise<void> {
		this.#drain.refuseSessions();
		await whenUnused({clients: this.#clients, processes: () => this.#processes()}, limitMs);
	}

	/** Refuses new processes from now on; settles when the running ones have exited, after `limitMs` at the latest. */
	async drain(limitMs: number): Promise<void> {
		this.#drain.refuseProcesses();
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
		void endAllOrphans();
	}

	/** Comes to rest, so that it can be handed over; `resume` undoes that. */
	quiesce(limitMs: number): Promise<Rest> {
		return quiesce({clients: this.#clients, tables: this.#tables}, limitMs);
	}

	/** Everything that goes on in a program that takes the place of this one; connections do not. */
	handOver(sink: HandoffSink): ServerRecord {
		const {store} = this.#state;
		if (store) sink.keep(store.lockDescriptor);
		return {
			...handOverSharing(this.#parts, sink),
			stateLock: store?.lockDescriptor,
			keepers: this.#keepers.childPids,
			ending: [...this.#tables].filter(table => !this.#registry.has(table)).flatMap(table => table.handOverLeaders()),
			sandboxEndedAt: Number.isFinite(this.#sandboxes.endedAt) ? toKernelTime(this.#sandboxes.endedAt) : undefined,
			endedSandboxes: this.#sandboxes.listEndedWithDescendants().map(storeRoot),
			writtenRoots: WRITTEN_ROOTS.handOver(),
		};
	}

	/** Goes on with what a server of another program has handed over. Call before the first connection. */
	adopt(record: ServerRecord, source: HandoffSource): void {
		const {sandboxEndedAt, endedSandboxes = [], writtenRoots = [], stateLock, sessions, ending, keepers = []} = record;
		if (sandboxEndedAt !== undefined) this.#sandboxes.endedAt = fromKernelTime(sandboxEndedAt);
		this.#sandboxes.rememberEnded(endedSandboxes.map(loadRoot));
		WRITTEN_ROOTS.adopt(writtenRoots);
		this.#keepers.spare(keepers, this.#backend());
		if (stateLock !== undefined) this.#state.adoptLock(source.adopt(stateLock));
		this.#absentMembers = adoptSharing(this.#parts, record, source);
		// Limits are those of the newest connection: a short one tells them.
		for (const {owner} of sessions) this.#accounts.connect(owner && {...owner, process: undefined})();
		this.#state.restoreRest();
		const ended = ending.map(loadRoot);
		for (const root of ended) killTree(root);
		void endOrphansUntilGone(ended);
	}

	get #parts(): SharingParts {
		return {sessions: this.#sessions, registry: this.#registry, shares: this.#shares};
	}

	async #endAll(graceMs: number): Promise<void> {
		const tables = [...this.#tables];
		for (const table of tables) table.endAll('ask');
		await waitAtMost(Promise.all(tables.map(table => table.allExited())), graceMs);
		this.kill();
		await waitAtMost(Promise.all(tables.map(table => table.allClosed())), REAP_TIMEOUT_MS);
		const left = (await endAllOrphans()).map(({pid, command}) => `${pid} ${command}`);
		if (left.length > 0) this.#settings.logger.warn('some processes could not be ended', {processes: left.join(', ')});
		await waitAtMost(
			Promise.all([...this.#clients].flatMap(client => [client.whenOutputFlushed(), client.pending.whenIdle()])),
			OUTPUT_DRAIN_TIMEOUT_MS,
		);
		for (const client of this.#clients) client.rpc.close();
		for (const session of this.#sessions) this.#sessions.destroy(session);
		this.#keepers.close();
		this.#state.close();
	}

	#createState(): ServerState {
		const {stateDirectory, stateSharedAs, stateMaxAgeMs, stateMaxBytes, stateMaxProcesses, logger} = this.#settings;
		return new ServerState({
			directory: stateDirectory,
			sharedAs: stateSharedAs,
			maxAgeMs: stateMaxAgeMs,
			maxBytes: stateMaxBytes,
			maxCount: stateMaxProcesses,
			logger,
			diskWaits: this.#diskWaits,
			retention: NOTHING_RETAINED,
			processes: () => this.#processes(),
			adopt: process => this.#registry.keptTable(grantOf(process.options.owner)).include(process),
			forget: process => this.#registry.drop(process),
			look: directory => this.#keepers.look(directory),
			lookAtOther: directory => this.#keepers.lookAtOther(directory),
			isHeld: directory => this.#keepers.holds(directory),
		});
	}

	#createKeepers(): Keepers {
		return new Keepers({
			settings: this.#settings,
			backend: () => this.#backendForStart(),
			openStore: () => this.#state.open(),
			tableOf: owner => this.#registry.keptTable(grantOf(owner)),
			diskWaits: this.#diskWaits,
			onFound: () => this.#state.restoreReleased(),
		});
	}

	*#processes(): Iterable<ManagedProcess> {
		for (const table of this.#tables) yield* table;
	}

	/** For the processes of a session, of a connection of the first protocol, for those that prepare others, or that outlive the sessions of an owner. */
	#createTable(owner: Grant | undefined, place: Session | TableUse | 'kept'): ProcessTable {
		const session = typeof place === 'object' ? place : undefined;
		const {retainBytes, retainChunks, retainClosedMs, variables, maxProcessesPerSession, logger, childLimits} =
			this.#settings;
		const {account, leave} = this.#accounts.open(owner);
		const table = new ProcessTable({
			backend: () => this.#backendForStart(),
			starts: this.#starts,
			retention: {bytes: retainBytes, chunks: retainChunks, budget: account?.retained ?? this.#budget},
			input: account?.input ?? this.#anonymousInput,
			retainClosedMs,
			variables,
			limits: childLimits,
			owner: owner?.name,
			openSpill: (id, request) => (this.#keeperRole ?? this.#state).openSpill(id, request, owner?.name),
			reopenSpill: record => this.#state.reopenSpill(record),
			quotas: [
				this.#quota,
				...(place === 'preparation' ? [] : [this.commands]),
				...(account ? [account.processes] : []),
				...(place === 'kept' ? [] : [new ProcessQuota(maxProcessesPerSession, 'this session')]),
			],
			// Beyond a session a process is kept with its output until it is removed; that of a keeper by the server.
			isRetained: process =>
				session?.isRetained(process) ?? (place === 'kept' && process.options.spill !== undefined && !this.#keeperRole),
			...(session && {archive: process => this.#registry.keptTable(owner).include(process)}),
			exited: process => {
				this.#sandboxes.noteEnd(process);
				this.#metrics.recordExit(process);
				if (process.options.spill) this.#state.noteEnded();
				const {exitCode, reason} = process.log.exit!;
				logger.debug('process exited', {session: session?.id, process: process.id, pid: process.pid, exitCode, reason});
			},
			removed: process => {
				this.#sandboxes.noteEnd(process);
				this.#registry.forget(process);
				this.#shares.forget(process);
				this.#metrics.recordRemoval(process);
			},
			disposed: () => {
				this.#tables.delete(table);
				this.#registry.removeTable(table);
				endUnclaimedOrphans(() => ![...this.#tables].some(each => each.hasLiving || !this.#registry.isKept(each)));
				leave();
			},
		});
		this.#tables.add(table);
		table.onAdded(process => this.#sandboxes.add(process));
		if (place === 'kept' || session) this.#registry.addTable(table, session);
		return table;
	}

	#backendForStart(): Backend {
		this.#drain.requireProcesses();
		return this.#backend();
	}

	#backend(): Backend {
		if (this.#shutdown) throw shuttingDownError('the server is shutting down');
		return this.#settings.backend();
	}
}

/** Restored processes have their output on disk only. */
const NOTHING_RETAINED = {bytes: 0, chunks: 0};

function withDefaults(options: ServerOptions): ServerSettings {
	return {variables: process.env, backend: selectBackend, logger: silentLogger, ...DEFAULTS, ...options};
}
