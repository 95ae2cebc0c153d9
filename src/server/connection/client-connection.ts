import {Forwards} from '../../network/forward/forwards.js';
import {HttpRequests} from '../../network/http/http-requests.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {Family} from '../../protocol/methods/method-table.js';
import type {Notification, Request} from '../../protocol/wire/envelope.js';
import {INVALID_REQUEST, RpcError} from '../../protocol/wire/error-codes.js';
import {RpcConnection, type Service} from '../../rpc/rpc-connection.js';
import type {Sandbox} from '../../sandbox/sandbox.js';
import {Lifetime} from '../../shared/async/lifetime.js';
import {LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {PeerSilentError} from '../../transports/peer-silent-error.js';
import {PeerViolationError} from '../../transports/peer-violation-error.js';
import type {Transport} from '../../transports/transport.js';
import {addressOf, ClientAudit} from '../audit.js';
import {accountOf, allows, type Grant} from '../auth/grant.js';
import {shuttingDownError} from '../drain.js';
import {launchFsWorker} from '../fs-worker/launch-fs-worker.js';
import type {Keepers} from '../keeper/keepers.js';
import type {ServerSettings} from '../options.js';
import type {ServerContext, TableUse, UpgradeRequest} from '../server-context.js';
import type {ServerMetrics} from '../server-metrics.js';
import type {ShareTokens} from '../sharing/share-tokens.js';
import type {SharedProcesses} from '../sharing/shared-processes.js';
import {accountKey} from './account-shares.js';
import {ClientFiles} from './client-files.js';
import {FlowControl} from './flow-control.js';
import type {OutputPump} from './output-pump.js';
import type {PartialMessages} from './partial-messages.js';
import {PendingRequests} from './pending-requests.js';
import type {Session, SessionHolder} from './sessions.js';
import {V0Sessions} from './v0-sessions.js';

type Handshake =
	| {readonly kind: 'new'}
	/** Waits for a session that another connection holds. */
	| {readonly kind: 'resuming'; readonly isInitialized: boolean}
	/** Its session is attached to another connection. */
	| {readonly kind: 'released'; readonly session: Session}
	| {readonly kind: 'initialized'; readonly session: Session; readonly pump: OutputPump}
	| {readonly kind: 'ready'; readonly session: Session; readonly pump: OutputPump};

function upgradeRefused(message: string): LongarmError {
	const hint =
		'On the machine of the server, as its user: longarm upgrade -e unix:PATH, or kill -USR2 with the pid of the server.';
	return new LongarmError('UPGRADE_FAILED', {message, hint});
}

export interface ClientConnectionOptions {
	/** Grant of its token; without one everything is allowed. */
	readonly grant: Grant | undefined;
	/** User of this machine who connected, where that is known. */
	readonly user?: number | undefined;
	/** Came after the server had begun to end: it may resume a session, and open none. */
	readonly isLate?: boolean | undefined;
	readonly onClosed: (client: ClientConnection) => void;
}

/** One client connection: the state of its handshake, and the session attached to it. */
export class ClientConnection implements Service, SessionHolder {
	readonly rpc: RpcConnection;
	readonly transport: Transport['kind'];
	readonly flow: FlowControl;
	readonly pending: PendingRequests;
	readonly disconnectsOnMalformed: boolean;
	readonly maxReplyBytes: number;
	/** Undefined without an audit log. */
	readonly audit: ClientAudit | undefined;
	/** Closes with the connection; everything it owns is registered here. */
	readonly lifetime = new Lifetime();
	readonly #context: ServerContext;
	readonly #options: ClientConnectionOptions;
	/** See `accountKey`. */
	readonly #account: string;
	readonly #partialMessages: PartialMessages;
	#handshake: Handshake = {kind: 'new'};
	#v0: V0Sessions | undefined;
	#http: HttpRequests | undefined;
	#forwards: Forwards | undefined;
	#files: ClientFiles | undefined;

	constructor(transport: Transport, context: ServerContext, options: ClientConnectionOptions) {
		this.#context = context;
		this.#options = options;
		this.transport = transport.kind;
		this.disconnectsOnMalformed = context.settings.protocol === 'v0';
		this.maxReplyBytes = context.settings.maxReplyBytes;
		const {audit, auditArguments} = context.settings;
		const auditedClient = {peer: addressOf(transport), token: options.grant?.name, user: options.user};
		this.audit = audit && new ClientAudit(audit, auditedClient, auditArguments);
		this.rpc = new RpcConnection(transport, 'server', this);
		this.#account = accountKey(options.grant, transport);
		const {share, leave} = context.accountShares.open(this.#account);
		this.#partialMessages = share.partialMessages;
		this.lifetime.add(() => {
			this.#partialMessages.report(this.rpc, 0);
			leave();
		});
		this.flow = new FlowControl(this.rpc, share.replies);
		this.pending = new PendingRequests({
			token: options.grant?.name,
			account: this.#account,
			waiting: context.waiting,
			holdReading: () => this.rpc.holdReading(),
			maxLength: () => share.replies.maxRequestLength,
		});
		if (options.grant?.expiresAt !== undefined) this.#endAt(options.grant.expiresAt);
		if (options.grant?.process) this.#endWithShare(options.grant);
	}

	/** Ends the connection with its token; a timer can be too short for the whole time. */
	#endAt(expiresAt: number): void {
		let timer: NodeJS.Timeout | undefined;
		const check = (): void => {
			const leftMs = expiresAt - performance.now();
			if (leftMs > 0) {
				timer = setTimeout(check, Math.min(Math.ceil(leftMs), MAX_TIMER_MS)).unref();
				return;
			}
			this.logger.info('a token has expired, and its connection ends', {peer: this.rpc.peer});
			this.rpc.destroy();
		};
		check();
		this.lifetime.add(() => clearTimeout(timer));
	}

	#endWithShare(grant: Grant): void {
		const forget = this.#context.shares.watch(grant, () => {
			this.logger.info('a share was revoked, and its connection ends', {peer: this.rpc.peer});
			this.rpc.destroy();
		});
		this.lifetime.add(forget);
	}

	/** The session; throws before the handshake is complete, see `admit`. */
	get session(): Session {
		const {kind} = this.#handshake;
		// Requests that came before the session was taken away are done.
		if (kind !== 'ready' && kind !== 'released') throw new Error('no session before the handshake');
		return this.#handshake.session;
	}

	/** The handshake is complete. */
	get isReady(): boolean {
		return this.#handshake.kind === 'ready';
	}

	/** Whether processes of its session, or its own of the first protocol, are starting or running. */
	get isRunningProcesses(): boolean {
		if (this.#v0?.isRunningProcesses) return true;
		return this.openSession?.isRunningProcesses === true;
	}

	/** Whether a process that it drives is starting or running, also one that outlives its session. */
	get isDriving(): boolean {
		return this.#v0?.isRunningProcesses === true || this.openSession?.isDriving === true;
	}

	/** Undefined before the handshake. */
	get openSession(): Session | undefined {
		return 'session' in this.#handshake ? this.#handshake.session : undefined;
	}

	/** Processes of the first protocol; they belong to the connection. */
	get v0(): V0Sessions {
		this.#v0 ??= new V0Sessions(this.rpc, this.createTable('connection'));
		return this.#v0;
	}

	/** Creates a table for processes that no other client sees, and that count against the quotas of the grant. */
	createTable(use: TableUse): ProcessTable {
		return this.#context.createTable(this.grant, use);
	}

	/** File handles, watches and searches this connection has open. */
	get files(): ClientFiles {
		this.#files ??= this.#closeWithConnection(
			new ClientFiles(this.rpc, this.flow, plan => launchFsWorker(plan, this.#context), accountOf(this.grant)),
		);
		return this.#files;
	}

	/** Enforces the sandbox policies of processes and file operations. */
	get sandbox(): Sandbox {
		return this.#context.sandbox;
	}

	/** Pending HTTP requests of this connection. */
	get http(): HttpRequests {
		this.#http ??= this.#createHttp();
		return this.#http;
	}

	/** Whether some variable of the server may be sent in a header; a client without any sends values of its own. */
	get maySendVariables(): boolean {
		return this.#headerVariables?.length !== 0;
	}

	#createHttp(): HttpRequests {
		const {variables, allowHttp: scope} = this.settings;
		const limits = {headerVariables: this.#headerVariables, scope};
		return this.#closeWithConnection(new HttpRequests({variables, limits, owner: this.#account}));
	}

	/** Variables this client may have sent in headers; undefined for all but protected ones. */
	get #headerVariables(): readonly string[] | undefined {
		return this.settings.httpVariables ?? (allows(this.grant, 'drive') ? undefined : []);
	}

	/** Forwarded TCP connections of this connection. */
	get forwards(): Forwards {
		this.#forwards ??= this.#closeWithConnection(new Forwards(this.settings.allowForward, this.#account));
		return this.#forwards;
	}

	/** Logger that adds the session id to every record. */
	get logger(): Logger {
		const {logger} = this.settings;
		return 'session' in this.#handshake ? logger.with({session: this.#handshake.session.id}) : logger;
	}

	get grant(): Grant | undefined {
		return this.#options.grant;
	}

	/** Processes of all sessions. */
	get registry(): SharedProcesses {
		return this.#context.registry;
	}

	/** Programs that run durable processes. */
	get keepers(): Keepers {
		return this.#context.keepers;
	}

	get metrics(): ServerMetrics {
		return this.#context.metrics;
	}

	/** Tokens for single processes. */
	get shares(): ShareTokens {
		return this.#context.shares;
	}

	/** Only the user of the server may have it replaced, who alone can open its unix socket. */
	get mayUpgrade(): boolean {
		return this.rpc.peer.includes('unix:') && allows(this.grant, 'drive') && this.#context.upgrade() !== undefined;
	}

	/** Replaces the server by another version. */
	async upgrade(request: UpgradeRequest): Promise<void> {
		if (!this.mayUpgrade) throw upgradeRefused('a server is upgraded by SIGUSR2, or over its unix socket');
		await this.#context.upgrade()!(request);
	}

	get settings(): ServerSettings {
		return this.#context.settings;
	}

	/** Handles `initialize` with a new session: may be repeated after a failure, but not after a success. */
	initialize(clientName = ''): Session {
		this.#requireNew();
		if (this.#options.isLate) throw shuttingDownError('the server is about to end and opens no more sessions');
		const session = this.#context.sessions.create(this.grant, clientName);
		this.#attach(session);
		return session;
	}

	/** Handles `initialize` with the session of another connection, which may have to be asked. */
	resume(sessionId: string): Session | Promise<Session> {
		this.#requireNew();
		const resumed = this.#context.sessions.resume(sessionId, this.grant, session => this.#attach(session));
		return resumed instanceof Promise ? this.#waitForSession(resumed) : resumed;
	}

	#requireNew(): void {
		if (this.#handshake.kind === 'new') return;
		throw new RpcError(INVALID_REQUEST, 'initialize may only be sent once per connection');
	}

	/** A client that does not wait for the answer may say `initialized` before it. */
	async #waitForSession(resumed: Promise<Session>): Promise<Session> {
		this.#handshake = {kind: 'resuming', isInitialized: false};
		try {
			return await resumed;
		} catch (error) {
			this.#handshake = {kind: 'new'};
			throw error;
		}
	}

	#attach(session: Session): void {
		this.requireOpen();
		const isReady = this.#handshake.kind === 'resuming' && this.#handshake.isInitialized;
		this.#handshake = {kind: isReady ? 'ready' : 'initialized', session, pump: session.attach(this)};
	}

	/**
	 * Throws once the connection has closed. Handlers that have waited call it before they make anything that would
	 * have to be released with the connection.
	 */
	requireOpen(): void {
		if (this.rpc.isClosed) throw new RpcError(INVALID_REQUEST, 'the connection is closed');
	}

	/** Another connection takes the session: this one does not answer. */
	release(): void {
		if ('pump' in this.#handshake) this.#handshake = {kind: 'released', session: this.#handshake.session};
		this.rpc.destroy();
	}

	/** Throws for methods of a family until the handshake is complete. */
	requireHandshake(family: Family): void {
		const {kind} = this.#handshake;
		if (kind === 'ready' || kind === 'released') return;
		const missing = kind === 'initialized' ? 'send initialized' : 'call initialize';
		throw new RpcError(INVALID_REQUEST, `client must ${missing} before using ${family} methods`);
	}

	request(request: Request, length: number): unknown {
		return this.#context.dispatch(request, this, length);
	}

	get maxUnreadBytes(): number {
		return this.flow.maxUnreadBytes;
	}

	partial(bytes: number): void {
		this.#partialMessages.report(this.rpc, bytes);
	}

	handled(ms: number): void {
		const {turns} = this.#context;
		if (turns.spend(ms)) turns.wait(this.#account, this.rpc.holdReading());
	}

	notification({method}: Notification): boolean {
		if (method !== 'initialized' || this.#handshake.kind === 'new') return false;
		if (this.#handshake.kind === 'resuming') this.#handshake = {kind: 'resuming', isInitialized: true};
		else if (this.#handshake.kind === 'initialized') this.#handshake = {...this.#handshake, kind: 'ready'};
		return true;
	}

	/** Resolves when all output of the session's processes was handed to the transport. */
	async whenOutputFlushed(): Promise<void> {
		if ('pump' in this.#handshake) await this.#handshake.pump.whenFlushed();
	}

	/** Requests are answered, all output was sent, and the machine of the client has it. */
	get isQuiet(): boolean {
		const isFlushed = !('pump' in this.#handshake) || this.#handshake.pump.isFlushed;
		return this.pending.isIdle && isFlushed && this.#v0?.isFlushed !== false && this.rpc.undelivered === 0;
	}

	drained(): void {
		if ('pump' in this.#handshake) this.#handshake.pump.pump();
		this.#v0?.pump();
		this.flow.onDrain();
	}

	failed(error: unknown, method: string): void {
		this.logger.error('a handler failed', {
			method,
			error: error instanceof Error ? error.stack : String(error),
		});
	}

	closed(error?: Error): void {
		const fields = {peer: this.rpc.peer, ...(error && {reason: error.message})};
		const isStopped = error instanceof PeerSilentError && error.machineAnswers;
		if (isStopped) this.logger.info('client does not answer, its machine does; its session can be resumed', fields);
		else if (error instanceof PeerSilentError) this.logger.info('client vanished, its session can be resumed', fields);
		else if (error instanceof PeerViolationError)
			this.logger.warn('hung up on a client that broke the protocol', fields);
		else this.logger.debug('connection closed', fields);
		this.lifetime.close();
		this.pending.close();
		this.flow.onDrain();
		this.#v0?.close();
		if ('pump' in this.#handshake) this.#context.sessions.detach(this.#handshake.session, isStopped);
		this.#options.onClosed(this);
	}

	#closeWithConnection<T extends {close(): void}>(state: T): T {
		this.lifetime.add(() => state.close());
		return state;
	}
}
