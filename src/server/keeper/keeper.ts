import type {ManagedProcess} from '../../processes/managed-process.js';
import {decode} from '../../protocol/wire/decode.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {Deferred} from '../../shared/async/deferred.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {FollowedProcess} from './followed-process.js';
import {KEEPER_ANSWER_MS, KeeperLink} from './keeper-link.js';
import {
	type HeldProcess,
	KEEPER_BLOCKED,
	type KeeperBlockedParams,
	type KeeperParamsOnWire,
	keeperBlockedParams,
} from './keeper-methods.js';
import {isKeeperAlive, type KeeperRecord} from './keeper-record.js';
import {createKeptChild} from './kept-child.js';

/** Time between two attempts to reach a keeper. */
const RETRY_MS = 250;
/** Attempts after which it is said that a keeper is out of reach. */
const TOLD_ATTEMPTS = 4;

export interface KeeperOptions {
	readonly socket: string;
	readonly logger: Logger;
	/** Whether another process that runs has the id. */
	readonly isTaken: (held: HeldProcess) => boolean;
	/** Makes the process of this server for one of the keeper's, from its files up to an event. */
	readonly host: (held: HeldProcess, keeper: Keeper, seq: number | undefined) => ManagedProcess;
	/** It was reached, and its processes are followed. */
	readonly onFound: (keeper: Keeper) => void;
	/** The output of a process waits for this reason, or no longer does. */
	readonly onBlockedChange: (process: ManagedProcess, reason: string | undefined) => void;
	/** It has no processes any more. */
	readonly onEmpty: (keeper: Keeper) => void;
	/** The program has ended. */
	readonly onGone: (keeper: Keeper) => void;
}

/** A keeper, the processes of this server that live in it, and the connection to it, which is made again when it is lost. */
export class Keeper {
	readonly record: KeeperRecord;
	readonly #options: KeeperOptions;
	readonly #followed = new Map<string, FollowedProcess>();
	/** Events of processes whose start was not answered yet. */
	readonly #early = new Map<string, Notification[]>();
	#link: KeeperLink | undefined;
	/** Settles with the next connection. */
	#next = new Deferred<KeeperLink>();
	#state: 'open' | 'ending' | 'closed' | 'gone' = 'open';

	constructor(record: KeeperRecord, options: KeeperOptions) {
		this.record = record;
		this.#options = options;
		this.#next.promise.catch(() => {});
	}

	get generation(): string {
		return this.record.generation;
	}

	/** Processes that have not closed, and starts that were not answered. */
	get size(): number {
		return this.#followed.size + this.#early.size;
	}

	/** New processes can be started in it. */
	get isOpen(): boolean {
		return this.#state === 'open';
	}

	/** Connects and follows all its processes; rejects if that is not possible now, and goes on trying. */
	async restore(): Promise<void> {
		try {
			await this.#connect();
		} catch (error) {
			void this.#reconnect();
			throw error;
		}
	}

	async start(params: KeeperParamsOnWire<'keeper/start'>): Promise<ManagedProcess> {
		const {processId} = params.start;
		if (this.#early.has(processId)) throw startingError(processId);
		const early: Notification[] = [];
		this.#early.set(processId, early);
		try {
			const link = this.#link ?? (await this.#next.promise);
			const followed = this.follow(await link.ask('keeper/start', params), 0);
			for (const notification of early) followed.take(notification);
			return followed.process;
		} catch (error) {
			throw error instanceof DisconnectedError ? this.#explainLoss(error) : error;
		} finally {
			this.#early.delete(processId);
			this.#tellIfEmpty();
		}
	}

	/** Whether the process was started is not known: the list tells it, when the keeper is reached again. */
	#explainLoss(cause: DisconnectedError): LongarmError {
		if (this.#state === 'closed')
			return new LongarmError('SHUTTING_DOWN', {message: 'the server is shutting down', cause});
		return new LongarmError('SPAWN_FAILED', {message: 'the keeper of durable processes has ended', cause});
	}

	/** The process of this server for one of the keeper's, whose events are known up to one of them. */
	follow(held: HeldProcess, seq?: number): FollowedProcess {
		const {processId} = held;
		const process = this.#options.host(held, this, seq);
		const ask = (method: string, params: object): Promise<unknown> => this.#askAsDriver(processId, method, params);
		const followed = new FollowedProcess(process, held, () => createKeptChild(held, ask));
		this.#followed.set(processId, followed);
		if (held.blockedOn) this.#options.onBlockedChange(process, undefined);
		const unwatch = process.log.watch(() => {
			if (!followed.isOver) return;
			unwatch();
			followed.block(undefined);
			this.#options.onBlockedChange(process, undefined);
			this.#forget(processId);
		});
		return followed;
	}

	/** Asks it to end, if there is nothing in it. */
	async end(): Promise<void> {
		if (!this.isOpen || this.size > 0) return;
		this.#state = 'ending';
		try {
			const {ends} = (await this.#link?.ask('keeper/end', {})) ?? {ends: false};
			if (!ends) this.#state = 'open';
		} catch {
			// It has ended before it could answer.
		}
	}

	/** Lets go of it: it goes on with its processes, which stay as they are here. */
	close(): void {
		if (this.#state === 'gone') return;
		this.#state = 'closed';
		this.#link?.close();
		this.#next.reject(new DisconnectedError());
	}

	/** A request that is cut off by the loss of the connection is sent again: writes have ids, and the rest may be repeated. */
	async #ask(method: string, params: object): Promise<unknown> {
		for (;;) {
			const link = this.#link ?? (await this.#next.promise);
			try {
				return await link.request(method, params);
			} catch (error) {
				if (!(error instanceof DisconnectedError) || this.#state !== 'open') throw error;
			}
		}
	}

	/** Another server may have found the process, too, and drive it since: the one that is used last drives it. */
	async #askAsDriver(processId: string, method: string, params: object): Promise<unknown> {
		try {
			return await this.#ask(method, params);
		} catch (error) {
			const followed = this.#followed.get(processId);
			if (!(error instanceof RpcError) || !followed) throw error;
			await this.#ask('keeper/follow', {processId, afterSeq: followed.seq});
			return this.#ask(method, params);
		}
	}

	async #connect(): Promise<void> {
		const link = await KeeperLink.connect(this.#options.socket, {
			notification: notification => this.#take(notification),
			closed: () => this.#handleLoss(link),
		});
		try {
			await this.#followAll(link);
		} catch (error) {
			link.close();
			throw error;
		}
		this.#link = link;
		this.#next.resolve(link);
		this.#options.onFound(this);
		this.#tellIfEmpty();
	}

	async #followAll(link: KeeperLink): Promise<void> {
		const {processes} = await link.ask('keeper/list', {}, KEEPER_ANSWER_MS);
		const held = new Set(processes.map(({processId}) => processId));
		for (const each of processes) {
			if (!this.#followed.has(each.processId) && !this.#options.isTaken(each)) this.follow(each);
		}
		for (const [processId, followed] of Array.from(this.#followed)) {
			if (!held.has(processId) || !(await follows(link, processId, followed.seq))) followed.finishFromDisk();
		}
	}

	#take(notification: Notification): void {
		const {processId} = notification.params as {readonly processId: string};
		const followed = this.#followed.get(processId);
		if (notification.method === KEEPER_BLOCKED) {
			if (followed) this.#block(followed, decode(keeperBlockedParams, notification.params));
		} else if (!followed) {
			this.#early.get(processId)?.push(notification);
		} else if (!followed.take(notification)) {
			this.#options.logger.error('events of a durable process are missing: they are asked for again', {
				process: processId,
				keeper: this.generation,
			});
			this.#link?.close();
		}
	}

	#block(followed: FollowedProcess, {blockedOn, reason}: KeeperBlockedParams): void {
		followed.block(blockedOn ?? undefined);
		this.#options.onBlockedChange(followed.process, reason ?? undefined);
	}

	#handleLoss(link: KeeperLink): void {
		if (this.#link !== link && this.#link !== undefined) return;
		const wasLinked = this.#link === link;
		this.#link = undefined;
		if (wasLinked) this.#next = new Deferred();
		this.#next.promise.catch(() => {});
		if (this.#state === 'ending') this.#abandon();
		else if (wasLinked && this.#state === 'open') void this.#reconnect();
	}

	async #reconnect(): Promise<void> {
		for (let attempt = 1; this.#state === 'open'; attempt++) {
			if (!isKeeperAlive(this.record)) return this.#abandon();
			try {
				return await this.#connect();
			} catch (error) {
				if (attempt === TOLD_ATTEMPTS) {
					this.#options.logger.error('a keeper runs but cannot be reached: its processes go on without this server', {
						keeper: this.generation,
						pid: this.record.pid,
						error: errorMessage(error),
					});
				}
			}
			await new Promise(resolve => setTimeout(resolve, RETRY_MS).unref());
		}
	}

	/** Everything that is known of its processes is on disk. */
	#abandon(): void {
		this.#state = 'gone';
		this.#next.reject(new DisconnectedError());
		const followed = [...this.#followed.values()];
		for (const each of followed) each.finishFromDisk();
		const lost = followed.filter(({process}) => process.state.kind === 'lost').map(({process}) => process.id);
		if (lost.length > 0) {
			this.#options.logger.error('processes were lost with their keeper', {keeper: this.generation, processes: lost});
		}
		this.#options.onGone(this);
	}

	#forget(processId: string): void {
		this.#followed.delete(processId);
		this.#tellIfEmpty();
	}

	#tellIfEmpty(): void {
		if (this.size === 0 && this.isOpen && this.#link) this.#options.onEmpty(this);
	}
}

function startingError(processId: string): LongarmError {
	const message = `process ${processId} already exists`;
	return new LongarmError('PROCESS_EXISTS', {message, context: {processId}});
}

/** False if the process has closed meanwhile. */
async function follows(link: KeeperLink, processId: string, afterSeq: number): Promise<boolean> {
	try {
		await link.ask('keeper/follow', {processId, afterSeq}, KEEPER_ANSWER_MS);
		return true;
	} catch (error) {
		if (!(error instanceof RpcError)) throw error;
		return false;
	}
}
