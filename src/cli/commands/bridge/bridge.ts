import {type RetainedPage, reconcile} from '../../../client/session/reconcile.js';
import {RECOVERY_BUDGET_MS, RETRY_INTERVAL_MS} from '../../../client/session/recovery.js';
import type {Connect} from '../../../client/session/session-client.js';
import {METHODS} from '../../../protocol/methods/method-table.js';
import {decode} from '../../../protocol/wire/decode.js';
import {encodeError, encodeNotification, encodeWithBytes} from '../../../protocol/wire/encode.js';
import {INTERNAL_ERROR} from '../../../protocol/wire/error-codes.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {abortable, waitAtMost} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import type {Transport} from '../../../transports/transport.js';
import {type BridgedMessage, BridgeLedger, type ForwardedEvents} from './bridge-ledger.js';
import {BridgeLink} from './bridge-link.js';

/** Bytes that wait for one end; above them nothing is read from the other. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
const LOST_ANSWER = 'exec-server transport disconnected before it answered: the request may have been carried out';

/** The session cannot be carried on. */
class SessionLostError extends Error {
	override readonly name = 'SessionLostError';
	readonly isFinal = true;
}

/**
 * Passes messages between a client on one transport and a server that is connected to as often as it takes. The client sees one
 * connection: events that came while there was none are read from what the server has kept.
 */
export class Bridge {
	readonly #client: Transport;
	readonly #connect: Connect;
	readonly #ledger = new BridgeLedger();
	readonly #stop = new AbortController();
	/** Messages of the client while there is no connection; it is read all the same, to see it leave. */
	readonly #queue: string[] = [];
	#queuedBytes = 0;
	#link: BridgeLink | undefined;
	#clientDrained = new Deferred();

	constructor(client: Transport, connect: Connect) {
		this.#client = client;
		this.#connect = connect;
	}

	/** Settles when the client has left; rejects when the server is lost for good. */
	async run(): Promise<void> {
		const {signal} = this.#stop;
		this.#client.open({
			message: (text, payload) => this.#receive(text, payload?.original() ?? text),
			unreadable: reason => this.#leave(new Error(reason)),
			drained: () => {
				this.#clientDrained.resolve();
				this.#link?.transport.resume();
			},
			closed: error => this.#leave(error),
		});
		try {
			this.#begin(await this.#open(signal));
			for (;;) {
				const error = await abortable(this.#link!.closed, signal);
				this.#link = undefined;
				this.#begin(await this.#recover(error, signal));
			}
		} catch (error) {
			if (!signal.aborted) throw error;
		} finally {
			this.#link?.transport.close();
			this.#client.close();
		}
	}

	#leave(error?: Error): void {
		this.#stop.abort(error);
	}

	#receive(text: string, original: string): void {
		this.#ledger.note(parse(text), original);
		const link = this.#link;
		if (!link) {
			this.#queue.push(original);
			this.#queuedBytes += original.length;
			if (this.#queuedBytes > MAX_BACKLOG_BYTES) this.#client.pause();
			return;
		}
		link.transport.send(original);
		if (link.transport.backlog > MAX_BACKLOG_BYTES) this.#client.pause();
	}

	async #open(signal: AbortSignal): Promise<BridgeLink> {
		const link = new BridgeLink(await this.#connect(signal), {
			message: (text, payload) => this.#deliver(link, parse(text), payload?.original() ?? text),
			drained: () => this.#client.resume(),
		});
		link.open();
		return link;
	}

	/** Everything that waits for the connection goes out. */
	#begin(link: BridgeLink): void {
		this.#link = link;
		for (const {message, text} of link.release()) this.#deliver(link, message, text);
		for (const text of this.#queue.splice(0)) link.transport.send(text);
		this.#queuedBytes = 0;
		this.#client.resume();
	}

	#deliver(link: BridgeLink, message: BridgedMessage, text: string): void {
		if (link.isAnswer(message, text)) return;
		if (link !== this.#link) return link.hold(message, text);
		if (!this.#ledger.take(message)) return;
		this.#client.send(text);
		if (this.#client.backlog > MAX_BACKLOG_BYTES) link.transport.pause();
	}

	/** Until the session is resumed and missed events are read. */
	async #recover(lost: Error | undefined, signal: AbortSignal): Promise<BridgeLink> {
		const reason = lost === undefined ? 'the server closed the connection' : lost.message;
		const {sessionId} = this.#ledger;
		if (sessionId === undefined) throw new SessionLostError(`exec-server transport disconnected: ${reason}`);
		const inTime = AbortSignal.any([signal, AbortSignal.timeout(RECOVERY_BUDGET_MS)]);
		let why: unknown;
		while (!inTime.aborted) {
			let link: BridgeLink | undefined;
			try {
				link = await abortable(this.#open(inTime), inTime);
				await abortable(this.#resume(link, sessionId), inTime);
			} catch (error) {
				link?.transport.destroy();
				if (!inTime.aborted) why = error;
				if ((error as {isFinal?: unknown}).isFinal === true) break;
				await waitAtMost(new Promise(() => {}), RETRY_INTERVAL_MS, inTime);
				continue;
			}
			return this.#catchUpAll(link, signal);
		}
		signal.throwIfAborted();
		const told = `exec-server transport disconnected (${reason}); failed to resume exec-server session`;
		throw new SessionLostError(`${told}: ${errorMessage(why ?? new Error('no answer in time'))}`, {cause: why});
	}

	async #resume(link: BridgeLink, resumeSessionId: string): Promise<void> {
		await link.call('initialize', {clientName: this.#ledger.clientName, resumeSessionId});
		link.transport.send(encodeNotification('initialized', {}));
	}

	/** There may be much to read, and a client that reads slowly: a connection that is lost meanwhile is made again. */
	async #catchUpAll(link: BridgeLink, signal: AbortSignal): Promise<BridgeLink> {
		try {
			for (const [processId, events] of this.#ledger.processes) {
				await abortable(this.#catchUp(link, processId, events), signal);
			}
		} catch (error) {
			const isLost = link.isClosed;
			link.transport.destroy();
			signal.throwIfAborted();
			// With a connection that is there, another attempt would bring the same.
			if (isLost) return this.#recover(error as Error, signal);
			throw error;
		}
		for (const {id, mayRepeat, text} of this.#ledger.takePending()) {
			if (mayRepeat) link.transport.send(text);
			else this.#client.send(encodeError(id, {code: INTERNAL_ERROR, message: LOST_ANSWER}));
		}
		return link;
	}

	/** Page by page: output on disk may be more than one answer holds. */
	async #catchUp(link: BridgeLink, processId: string, known: ForwardedEvents): Promise<void> {
		for (let hasMore = true; hasMore; ) {
			const read = {processId, afterSeq: known.published, waitMs: 0};
			const page = decode(METHODS['process/read'].result, await link.call('process/read', read));
			this.#passOn(processId, known, page);
			hasMore = page.more === true;
			if (hasMore && known.published === read.afterSeq) throw new Error('the server tells of more, and sends nothing');
			await this.#waitForClient();
		}
	}

	#passOn(processId: string, known: ForwardedEvents, page: RetainedPage): void {
		const {events, lostThrough} = reconcile(known, page);
		if (lostThrough !== undefined) {
			throw new SessionLostError(`output of the process ${processId} is no longer kept by the server`);
		}
		for (const {kind, ...event} of events) {
			const method = `process/${kind}`;
			if (!this.#ledger.takeEvent(method, processId, event.seq)) continue;
			const {bytes: chunk, ...rest} = event as typeof event & {bytes?: Uint8Array};
			this.#client.send(encodeNotification(method, encodeWithBytes({processId, ...rest, chunk})));
		}
	}

	async #waitForClient(): Promise<void> {
		while (this.#client.backlog > MAX_BACKLOG_BYTES) {
			this.#clientDrained = new Deferred();
			await this.#clientDrained.promise;
		}
	}
}

/** Whatever is no object is passed on for the other end to judge. */
function parse(text: string): BridgedMessage {
	try {
		const value = JSON.parse(text) as unknown;
		return typeof value === 'object' && value !== null ? value : {};
	} catch {
		return {};
	}
}
