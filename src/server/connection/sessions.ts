import {randomUUID} from 'node:crypto';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {ShellSnapshots} from '../../processes/shell-snapshot/shell-snapshots.js';
import type {NotificationName} from '../../protocol/methods/method-table.js';
import {INVALID_REQUEST, RpcError, SESSION_ATTACHED} from '../../protocol/wire/error-codes.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {ERRORS, LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import type {HandoffSink, HandoffSource} from '../../shared/node/handoff-file.js';
import {instanceId} from '../../shared/node/instance-id.js';
import {fromKernelTime, toKernelTime} from '../../shared/node/kernel-clock.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {accountOf, type Grant, mayResume} from '../auth/grant.js';
import type {GrantRecord, SessionRecord} from '../handoff/server-record.js';
import type {SharedProcess} from '../sharing/process-members.js';
import {OutputPump} from './output-pump.js';

/** How long the connection that holds a session may take to give a sign of life when another one wants the session. */
export const TAKEOVER_MS = 2000;

/** How long the processes of a client are held back for it after another program has taken the place of its server. */
export const MAX_DRIVER_ABSENCE_MS = 10_000;

/** How often it is looked whether a process whose time is over is still used by another client. */
const IN_USE_INTERVAL_MS = 60_000;

/** The connection a session is attached to. */
export interface SessionHolder {
	readonly rpc: RpcConnection;
	/** Gives up the session and closes. */
	release(): void;
}

type Attachment =
	| {readonly kind: 'attached'; readonly pump: OutputPump; readonly holder: SessionHolder}
	| {
			readonly kind: 'detached';
			readonly since: number;
			readonly ttlMs: number;
			readonly timer: NodeJS.Timeout | undefined;
	  };

/** The processes of a client, which outlive its connection, and the pump that sends their events while attached. */
export class Session {
	readonly id: string;
	/** Grant of the client that created it; undefined when no token is needed. */
	readonly owner: Grant | undefined;
	readonly processes: ProcessTable;
	/** Name that other clients see: that of the token, or the one the client gave itself. */
	readonly clientName: string;
	/** Processes it shares with others, or that it has attached to. */
	readonly memberships = new Set<SharedProcess>();
	/** Processes of its own that it has detached from. */
	readonly left = new WeakSet<ManagedProcess>();
	#attachment: Attachment = {kind: 'detached', since: performance.now(), ttlMs: 0, timer: undefined};

	#isEnded = false;
	/** Loaded with the first start that wants one. */
	#snapshots: ShellSnapshots | undefined;

	constructor(
		owner: Grant | undefined,
		clientName: string,
		createTable: (session: Session) => ProcessTable,
		id: string = randomUUID(),
	) {
		this.id = id;
		this.owner = owner;
		this.clientName = clientName;
		this.processes = createTable(this);
	}

	/** For a program that takes the place of this one; its connection is over then. */
	handOver(sink: HandoffSink, storeGrant: (grant: Grant) => GrantRecord): SessionRecord {
		const attachment = this.#attachment;
		return {
			id: this.id,
			clientName: this.clientName,
			owner: this.owner && storeGrant(this.owner),
			detached:
				attachment.kind === 'detached' ? {since: toKernelTime(attachment.since), ttlMs: attachment.ttlMs} : undefined,
			processes: this.processes.handOver(sink),
		};
	}

	get hasProcesses(): boolean {
		return this.processes[Symbol.iterator]().next().done !== true;
	}

	get isRunningProcesses(): boolean {
		return this.processes.hasLiving;
	}

	/** Whether a process of its own, or one that it drives, is starting or running. */
	get isDriving(): boolean {
		if (this.isRunningProcesses) return true;
		for (const shared of this.memberships) if (shared.process.isAlive && shared.isDriver(this)) return true;
		return false;
	}

	/** It cannot be resumed any more. */
	get isEnded(): boolean {
		return this.#isEnded;
	}

	get isAttached(): boolean {
		return this.#attachment.kind === 'attached';
	}

	/** Undefined without a connection. */
	get pump(): OutputPump | undefined {
		return this.#attachment.kind === 'attached' ? this.#attachment.pump : undefined;
	}

	/** A process of its own, or one it has attached to, by the id its client knows. */
	find(processId: string): ManagedProcess | undefined {
		return this.processes.find(processId) ?? this.#findMembership(processId)?.process;
	}

	#findMembership(processId: string): SharedProcess | undefined {
		for (const shared of this.memberships) if (shared.find(this)?.processId === processId) return shared;
		return undefined;
	}

	/** Undefined for a process that no other session has used yet. */
	findShared(process: ManagedProcess): SharedProcess | undefined {
		for (const shared of this.memberships) if (shared.process === process) return shared;
		return undefined;
	}

	/** Whether it has the seat: a process that no other session has used is driven by the one it belongs to. */
	drives(process: ManagedProcess): boolean {
		return this.findShared(process)?.isDriver(this) ?? !this.left.has(process);
	}

	/** No-op without a connection. */
	notify(name: NotificationName, params: unknown): void {
		this.holder?.rpc.notify(name, params);
	}

	/** The connection it is attached to. */
	get holder(): SessionHolder | undefined {
		return this.#attachment.kind === 'attached' ? this.#attachment.holder : undefined;
	}

	/** Takes it from its holder, if it has one. */
	attach(holder: SessionHolder): OutputPump {
		const previous = this.#attachment;
		if (previous.kind === 'detached') clearTimeout(previous.timer);
		else {
			previous.pump.stop();
			previous.holder.release();
		}
		this.processes.restartRetention();
		const pump = new OutputPump(holder.rpc, this.processes, undefined, process => ({drives: this.drives(process)}));
		this.#attachment = {kind: 'attached', pump, holder};
		for (const shared of this.memberships) {
			const {process} = shared;
			const {processId} = shared.find(this)!;
			if (this.processes.find(processId) !== process) pump.deliver(process, {processId, drives: this.drives(process)});
			shared.handleConnection(this, true);
		}
		return pump;
	}

	/**
	 * Starts the detached timeouts: each process ends after the `keepDetachedMs` it was started with, or `ttlMs`. One that was
	 * to be kept, and that another client has found, is not ended while that is there. The session expires with the last of them.
	 */
	detach(ttlMs: number, onExpired: () => void, since = performance.now()): void {
		if (this.#attachment.kind === 'attached') this.#attachment.pump.stop();
		const hadConnection = this.#attachment.kind === 'attached';
		const checkTimeouts = (): void => {
			const elapsed = performance.now() - since;
			const timeoutOf = (process: ManagedProcess): number => {
				const timeMs = process.options.keepDetachedMs ?? ttlMs;
				return timeMs <= elapsed && this.#isKeptInUse(process) ? elapsed + IN_USE_INTERVAL_MS : timeMs;
			};
			for (const process of this.processes) {
				// Daemons of a process that is over end with the session.
				const isOver = process.state.kind === 'closed';
				if (!isOver && timeoutOf(process) <= elapsed) process.terminate({kind: 'force'});
			}
			const left = [ttlMs, ...[...this.processes].map(timeoutOf)].filter(time => time > elapsed);
			if (left.length === 0) {
				onExpired();
				return;
			}
			const timer = setTimeout(checkTimeouts, Math.min(Math.ceil(Math.min(...left) - elapsed), MAX_TIMER_MS));
			timer.unref();
			this.#attachment = {kind: 'detached', since, ttlMs, timer};
		};
		checkTimeouts();
		if (hadConnection) for (const shared of this.memberships) shared.handleConnection(this, false);
	}

	/** Whether another client uses a process that was to be kept for this one. */
	#isKeptInUse(process: ManagedProcess): boolean {
		if (!process.isAlive || (process.options.keepDetachedMs ?? 0) === 0) return false;
		return [...(this.findShared(process)?.members ?? [])].some(({session}) => session !== this && session.isAttached);
	}

	/** True if a detached process must stay in the table because the client asked to find it, or its output, after a reconnect. */
	isRetained({options, log}: ManagedProcess): boolean {
		return !this.isAttached && ((options.keepDetachedMs ?? 0) > 0 || log.isAwaitingAcknowledgement);
	}

	/** Its shell snapshots; captures run in a table of their own, which no client sees. Throws once the session has ended. */
	async openSnapshots(createTable: () => ProcessTable, logger: Logger): Promise<ShellSnapshots> {
		const module = await import('../../processes/shell-snapshot/shell-snapshots.js');
		if (this.#isEnded) throw new Error('the session has ended');
		this.#snapshots ??= new module.ShellSnapshots(createTable(), logger);
		return this.#snapshots;
	}

	/** Kills its processes and releases everything. */
	destroy(): void {
		this.#isEnded = true;
		if (this.#attachment.kind === 'detached') clearTimeout(this.#attachment.timer);
		for (const shared of this.memberships) shared.leave(this, 'disconnected');
		this.processes.endAll('force');
		this.processes.dispose();
		this.#snapshots?.close();
	}
}

export interface SessionsOptions {
	readonly detachedSessionMs: number;
	/** The same for the session of a client that is stopped, if that is longer. */
	readonly stoppedPeerMs: number;
	/** Detached sessions of one owner; those without a token count together. */
	readonly maxDetachedSessions: number;
	readonly logger: Logger;
	readonly createTable: (session: Session) => ProcessTable;
}

/** Session table by id. A session has at most one connection and outlives it for a while. */
export class Sessions {
	readonly #options: SessionsOptions;
	readonly #sessions = new Map<string, Session>();
	/** By the account of the owner, the longest detached first. */
	readonly #detached = new Map<string | undefined, Set<Session>>();

	constructor(options: SessionsOptions) {
		this.#options = options;
	}

	[Symbol.iterator](): IterableIterator<Session> {
		return this.#sessions.values();
	}

	get size(): number {
		return this.#sessions.size;
	}

	/** Throws `SESSION_LIMIT` if the owner has as many detached sessions as are kept and all of them have processes. */
	create(owner: Grant | undefined, clientName: string): Session {
		if (!this.#makeRoom(owner, this.#options.maxDetachedSessions)) throw this.#limitError(owner);
		const session = new Session(owner, nameClient(owner, clientName), this.#options.createTable);
		this.#sessions.set(session.id, session);
		this.#options.logger.debug('session created', {session: session.id});
		return session;
	}

	/**
	 * Calls `attach` with the session once it may be had: at once, or when the connection that holds it does not answer.
	 * Then `attach` is called only if the caller is still there.
	 */
	resume(id: string, caller: Grant | undefined, attach: (session: Session) => void): Session | Promise<Session> {
		const session = this.#find(id, caller);
		if (session.holder) return this.#takeOver(session, session.holder, caller, attach);
		return this.#attach(session, attach);
	}

	async #takeOver(
		session: Session,
		holder: SessionHolder,
		caller: Grant | undefined,
		attach: (session: Session) => void,
	): Promise<Session> {
		const {id} = session;
		const isAnswering = await holder.rpc.isPeerAnswering(TAKEOVER_MS);
		this.#find(id, caller);
		// Another one may have been faster; this holder is not asked again.
		if (session.holder && (isAnswering || session.holder !== holder)) {
			throw new RpcError(SESSION_ATTACHED, `session ${id} is already attached to another connection`);
		}
		const isTaken = session.holder !== undefined;
		this.#attach(session, attach);
		if (isTaken) {
			const fields = {session: id, peer: holder.rpc.peer};
			this.#options.logger.info('session taken over from a connection that does not answer', fields);
		}
		return session;
	}

	#attach(session: Session, attach: (session: Session) => void): Session {
		attach(session);
		this.#forgetDetached(session);
		this.#options.logger.debug('session resumed', {session: session.id});
		return session;
	}

	/** A session of another owner gets the same error as one that does not exist, so that ids cannot be probed. */
	#find(id: string, caller: Grant | undefined): Session {
		const session = this.#sessions.get(id);
		if (!session || !mayResume(session.owner, caller, session.hasProcesses)) throw unknownSessionError(id);
		return session;
	}

	/**
	 * Takes over a session of the program that this one has taken the place of. If it was attached, its client is on the
	 * way back: until it has read what it missed its processes are held back as if it were there, for a while.
	 */
	adopt({id, clientName, detached, processes}: SessionRecord, owner: Grant | undefined, source: HandoffSource): void {
		const session = new Session(owner, clientName, this.#options.createTable, id);
		this.#sessions.set(id, session);
		session.processes.adopt(processes, source);
		dismissAbsentDrivers(session.processes);
		if (!detached) {
			this.detach(session);
			return;
		}
		this.#rememberDetached(session);
		session.detach(detached.ttlMs, () => this.destroy(session), fromKernelTime(detached.since));
	}

	get(id: string): Session | undefined {
		return this.#sessions.get(id);
	}

	/** `isStopped` for a client whose machine is there: it goes on with its session when it is continued. */
	detach(session: Session, isStopped = false): void {
		this.#options.logger.debug('session detached', {session: session.id});
		this.#rememberDetached(session);
		const {detachedSessionMs, stoppedPeerMs} = this.#options;
		const ttlMs = isStopped ? Math.max(detachedSessionMs, stoppedPeerMs) : detachedSessionMs;
		session.detach(ttlMs, () => this.destroy(session));
		this.#makeRoom(session.owner, this.#options.maxDetachedSessions + 1);
	}

	destroy(session: Session): void {
		this.#sessions.delete(session.id);
		this.#forgetDetached(session);
		session.destroy();
		this.#options.logger.debug('session destroyed', {session: session.id});
	}

	/** Destroys the oldest detached session without processes if there are `limit` or more; false if there is none such. */
	#makeRoom(owner: Grant | undefined, limit: number): boolean {
		const detached = this.#detached.get(accountOf(owner));
		if (!detached || detached.size < limit) return true;
		for (const session of detached) {
			if (session.hasProcesses) continue;
			this.destroy(session);
			return true;
		}
		return false;
	}

	#rememberDetached(session: Session): void {
		const account = accountOf(session.owner);
		const detached = this.#detached.get(account);
		if (detached) detached.add(session);
		else this.#detached.set(account, new Set([session]));
	}

	#forgetDetached(session: Session): void {
		const account = accountOf(session.owner);
		const detached = this.#detached.get(account);
		detached?.delete(session);
		if (detached?.size === 0) this.#detached.delete(account);
	}

	#limitError(owner: Grant | undefined): LongarmError {
		const {maxDetachedSessions: limit} = this.#options;
		const holder = owner ? `of the token ${owner.name}` : 'without a token';
		return new LongarmError('SESSION_LIMIT', {
			message: `${limit} sessions ${holder} are detached with processes already`,
			context: {limit},
		});
	}
}

/** Drivers of an earlier program are waited for, but not for ever. */
export function dismissAbsentDrivers(table: ProcessTable): void {
	const dismiss = (): void => {
		for (const {log} of table) log.dismissAbsentDriver();
	};
	setTimeout(dismiss, MAX_DRIVER_ABSENCE_MS).unref();
}

/** The only name of a token that tells nothing: there is just one. */
const SINGLE_TOKEN = 'token';
const MAX_CLIENT_NAME_CHARS = 64;

function nameClient(owner: Grant | undefined, given: string): string {
	if (owner && owner.name !== SINGLE_TOKEN) return owner.name;
	return given.slice(0, MAX_CLIENT_NAME_CHARS) || 'a client';
}

/** The instance tells the client whether the server that had the session is this one. */
function unknownSessionError(id: string): RpcError {
	const data = {code: 'SESSION_UNKNOWN', context: {instanceId: instanceId()}, hint: ERRORS.SESSION_UNKNOWN.hint};
	return new RpcError(INVALID_REQUEST, `unknown session id ${id}`, data);
}
