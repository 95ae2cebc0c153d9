import {randomUUID} from 'node:crypto';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessTable} from '../../processes/process-table.js';
import {INVALID_REQUEST, RpcError, SESSION_ATTACHED} from '../../protocol/wire/error-codes.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import type {Logger} from '../../shared/logger.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {type Grant, mayResume} from '../auth/grant.js';
import {OutputPump} from './output-pump.js';

type Attachment =
	| {readonly kind: 'attached'; readonly pump: OutputPump}
	| {readonly kind: 'detached'; readonly since: number; readonly timer: NodeJS.Timeout | undefined};

/** The processes of a client, which outlive its connection, and the pump that sends their events while there is one. */
export class Session {
	readonly id = randomUUID();
	/** Whose it is; undefined for all who need no token. */
	readonly owner: Grant | undefined;
	readonly processes: ProcessTable;
	#attachment: Attachment = {kind: 'detached', since: performance.now(), timer: undefined};

	constructor(owner: Grant | undefined, createTable: (session: Session) => ProcessTable) {
		this.owner = owner;
		this.processes = createTable(this);
	}

	get hasProcesses(): boolean {
		return this.processes[Symbol.iterator]().next().done !== true;
	}

	get attached(): boolean {
		return this.#attachment.kind === 'attached';
	}

	attach(connection: RpcConnection): OutputPump {
		if (this.#attachment.kind === 'detached') clearTimeout(this.#attachment.timer);
		this.processes.restartRetention();
		const pump = new OutputPump(connection, this.processes);
		this.#attachment = {kind: 'attached', pump};
		return pump;
	}

	/**
	 * Without a connection every process has its own time: what it was started with, else `ttlMs`. When all times are
	 * over the session is.
	 */
	detach(ttlMs: number, expired: () => void): void {
		if (this.#attachment.kind === 'attached') this.#attachment.pump.stop();
		const since = performance.now();
		const look = (): void => {
			const elapsed = performance.now() - since;
			for (const process of this.processes) {
				if (timeOf(process) <= elapsed) process.terminate();
			}
			const left = [ttlMs, ...[...this.processes].map(timeOf)].filter(time => time > elapsed);
			if (left.length === 0) {
				expired();
				return;
			}
			const timer = setTimeout(look, Math.min(Math.ceil(Math.min(...left) - elapsed), MAX_TIMER_MS));
			timer.unref();
			this.#attachment = {kind: 'detached', since, timer};
		};
		const timeOf = ({options}: ManagedProcess): number => options.keepDetachedMs ?? ttlMs;
		look();
	}

	/** Whether the client was promised to find this process when it comes back. */
	isRetained({options}: ManagedProcess): boolean {
		return !this.attached && (options.keepDetachedMs ?? 0) > 0;
	}

	/** Kills what runs and forgets everything. */
	destroy(): void {
		if (this.#attachment.kind === 'detached') clearTimeout(this.#attachment.timer);
		this.processes.end('force');
		this.processes.dispose();
	}
}

export interface SessionsOptions {
	readonly detachedSessionMs: number;
	readonly logger: Logger;
	readonly createTable: (session: Session) => ProcessTable;
}

/** Sessions by id. A session has at most one connection and outlives it for a while. */
export class Sessions {
	readonly #options: SessionsOptions;
	readonly #sessions = new Map<string, Session>();

	constructor(options: SessionsOptions) {
		this.#options = options;
	}

	[Symbol.iterator](): IterableIterator<Session> {
		return this.#sessions.values();
	}

	get size(): number {
		return this.#sessions.size;
	}

	create(owner?: Grant): Session {
		const session = new Session(owner, this.#options.createTable);
		this.#sessions.set(session.id, session);
		this.#options.logger.debug('session created', {session: session.id});
		return session;
	}

	/** Somebody else's session is as unknown as one that does not exist. */
	resume(id: string, caller?: Grant): Session {
		const session = this.#sessions.get(id);
		if (!session || !mayResume(session.owner, caller, session.hasProcesses))
			throw new RpcError(INVALID_REQUEST, `unknown session id ${id}`);
		if (session.attached) {
			throw new RpcError(SESSION_ATTACHED, `session ${id} is already attached to another connection`);
		}
		this.#options.logger.debug('session resumed', {session: id});
		return session;
	}

	detach(session: Session): void {
		this.#options.logger.debug('session detached', {session: session.id});
		session.detach(this.#options.detachedSessionMs, () => this.destroy(session));
	}

	destroy(session: Session): void {
		this.#sessions.delete(session.id);
		session.destroy();
		this.#options.logger.debug('session destroyed', {session: session.id});
	}
}
