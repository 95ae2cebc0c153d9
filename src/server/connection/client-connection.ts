import {Forwards} from '../../network/forward/forwards.js';
import {HttpRequests} from '../../network/http/http-requests.js';
import type {Family} from '../../protocol/methods/method-table.js';
import type {Notification, Request} from '../../protocol/wire/envelope.js';
import {INVALID_REQUEST, RpcError} from '../../protocol/wire/error-codes.js';
import {RpcConnection, type Service} from '../../rpc/rpc-connection.js';
import type {Sandbox} from '../../sandbox/sandbox.js';
import {Scope} from '../../shared/async/scope.js';
import type {Logger} from '../../shared/logger.js';
import type {Transport} from '../../transports/transport.js';
import type {Grant} from '../auth/grant.js';
import {launchFsWorker} from '../fs-worker/launch-fs-worker.js';
import type {ServerSettings} from '../options.js';
import type {ServerContext} from '../server-context.js';
import {ClientFiles} from './client-files.js';
import {FlowControl} from './flow-control.js';
import type {OutputPump} from './output-pump.js';
import type {Session} from './sessions.js';
import {V0Sessions} from './v0-sessions.js';

type Handshake =
	| {readonly kind: 'new'}
	| {readonly kind: 'greeted'; readonly session: Session; readonly pump: OutputPump}
	| {readonly kind: 'ready'; readonly session: Session; readonly pump: OutputPump};

export interface ClientConnectionOptions {
	/** The limits of its token; without one the connection may do everything. */
	readonly grant: Grant | undefined;
	readonly closed: (client: ClientConnection) => void;
}

/** One client on one connection: the state of its handshake and the session it holds. */
export class ClientConnection implements Service {
	readonly rpc: RpcConnection;
	readonly transport: Transport['kind'];
	/** Bounds on the bytes the connection may hold in memory on their way in and out. */
	readonly flow: FlowControl;
	readonly hangsUpOnMalformed: boolean;
	readonly maxReplyBytes: number;
	/** Ends with the connection; what belongs to the connection is registered here. */
	readonly scope = new Scope();
	readonly #context: ServerContext;
	readonly #options: ClientConnectionOptions;
	#handshake: Handshake = {kind: 'new'};
	#v0: V0Sessions | undefined;
	#http: HttpRequests | undefined;
	#forwards: Forwards | undefined;
	#files: ClientFiles | undefined;

	constructor(transport: Transport, context: ServerContext, options: ClientConnectionOptions) {
		this.#context = context;
		this.#options = options;
		this.transport = transport.kind;
		this.hangsUpOnMalformed = context.settings.protocol === 'v0';
		this.maxReplyBytes = context.settings.maxReplyBytes;
		this.rpc = new RpcConnection(transport, 'server', this);
		this.flow = new FlowControl(this.rpc);
	}

	/** The session of a caller that `admit` let pass. */
	get session(): Session {
		if (this.#handshake.kind !== 'ready') throw new Error('no session before the handshake');
		return this.#handshake.session;
	}

	/** The processes of the first protocol, which belong to the connection. */
	get v0(): V0Sessions {
		this.#v0 ??= new V0Sessions(this.rpc, this.#context.createTable(this.grant));
		return this.#v0;
	}

	/** File handles, watches and searches this connection has open. */
	get files(): ClientFiles {
		this.#files ??= this.#untilClosed(
			new ClientFiles(this.rpc, this.flow, plan => launchFsWorker(plan, this.#context)),
		);
		return this.#files;
	}

	/** Confines processes and file operations when a policy asks for it. */
	get sandbox(): Sandbox {
		return this.#context.sandbox;
	}

	/** The HTTP requests this connection has under way. */
	get http(): HttpRequests {
		this.#http ??= this.#untilClosed(new HttpRequests(this.settings.variables));
		return this.#http;
	}

	/** The connections it has forwarded. */
	get forwards(): Forwards {
		this.#forwards ??= this.#untilClosed(new Forwards(this.settings.allowForward));
		return this.#forwards;
	}

	/** The log with the session on every line. */
	get logger(): Logger {
		const {logger} = this.settings;
		return this.#handshake.kind === 'new' ? logger : logger.with({session: this.#handshake.session.id});
	}

	/** The limits of its token; without one the connection may do everything. */
	get grant(): Grant | undefined {
		return this.#options.grant;
	}

	get settings(): ServerSettings {
		return this.#context.settings;
	}

	/** `initialize`: a failed attempt may be repeated, a second session may not be had. */
	initialize(resumeSessionId: string | undefined): Session {
		if (this.#handshake.kind !== 'new') {
			throw new RpcError(INVALID_REQUEST, 'initialize may only be sent once per connection');
		}
		const {grant} = this;
		const {sessions} = this.#context;
		const session = resumeSessionId === undefined ? sessions.create(grant) : sessions.resume(resumeSessionId, grant);
		this.#handshake = {kind: 'greeted', session, pump: session.attach(this.rpc)};
		return session;
	}

	/** Refuses methods of a family until the handshake is over. */
	admit(family: Family): void {
		if (this.#handshake.kind === 'ready') return;
		const missing = this.#handshake.kind === 'new' ? 'call initialize' : 'send initialized';
		throw new RpcError(INVALID_REQUEST, `client must ${missing} before using ${family} methods`);
	}

	request(request: Request): unknown {
		return this.#context.dispatch(request, this);
	}

	notification({method}: Notification): boolean {
		if (method !== 'initialized' || this.#handshake.kind === 'new') return false;
		this.#handshake = {...this.#handshake, kind: 'ready'};
		return true;
	}

	/** Settles when the transport was handed everything the processes of the session have said. */
	async outputFlushed(): Promise<void> {
		if (this.#handshake.kind !== 'new') await this.#handshake.pump.flushed();
	}

	drained(): void {
		if (this.#handshake.kind !== 'new') this.#handshake.pump.pump();
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
		this.logger.debug('connection closed', {peer: this.rpc.peer, ...(error && {reason: error.message})});
		this.scope.close();
		this.flow.onDrain();
		this.#v0?.close();
		if (this.#handshake.kind !== 'new') this.#context.sessions.detach(this.#handshake.session);
		this.#options.closed(this);
	}

	#untilClosed<T extends {close(): void}>(state: T): T {
		this.scope.add(() => state.close());
		return state;
	}
}
