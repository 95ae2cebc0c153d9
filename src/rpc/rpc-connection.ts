import type {BinaryPayload} from '../protocol/wire/binary-payload.js';
import {
	encodeError,
	encodeNotification,
	encodeRequest,
	encodeResult,
	type Frame,
	JsonParts,
	measureFrame,
} from '../protocol/wire/encode.js';
import {
	type ErrorObject,
	MALFORMED_ID,
	type Message,
	type Notification,
	parseMessage,
	type Request,
	type RequestId,
	type Trace,
} from '../protocol/wire/envelope.js';
import {INTERNAL_ERROR, INVALID_REQUEST, RpcError} from '../protocol/wire/error-codes.js';
import {MAX_MESSAGE_BYTES} from '../protocol/wire/message-limits.js';
import type {SharedFrame} from '../protocol/wire/shared-frame.js';
import {truncateText} from '../protocol/wire/strict-json.js';
import {onAbort} from '../shared/async/on-abort.js';
import {errorMessage} from '../shared/errors.js';
import {PeerViolationError} from '../transports/peer-violation-error.js';
import type {Transport} from '../transports/transport.js';
import {DisconnectedError} from './disconnected-error.js';

/** Back-pressure: while the peer leaves more than this unread, its requests are not read, which bounds the replies. */
export const MAX_UNREAD_REPLY_BYTES = 4 * 1024 * 1024;

/** Longest part of a peer's message that is quoted in the reason of a hang-up. */
const MAX_QUOTED_CHARS = 100;
/** Characters of the text of an error that are taken from the other end. */
export const MAX_ERROR_CHARS = 16 * 1024;

/** Handler of the requests and notifications of a connection. */
export interface Service {
	/**
	 * Returns the result or a promise of it; a thrown RpcError becomes the error reply. `length` is that of the message, in
	 * characters and bytes of its binary payload.
	 */
	request(request: Request, length: number): unknown;
	/** Returns false for an unknown notification. */
	notification(notification: Notification): boolean;
	/** See `TransportEvents.partial`. */
	partial?(bytes: number): void;
	/** The send buffer was flushed: more may be sent. */
	drained?(): void;
	/** Called once, after every pending call was settled. */
	closed?(error?: Error): void;
	/** Largest reply the peer takes, in bytes of JSON text; by default the limit of the protocol. */
	readonly maxReplyBytes?: number;
	/** Unread bytes above which the peer is not read; `MAX_UNREAD_REPLY_BYTES` by default. */
	readonly maxUnreadBytes?: number;
	/** Called after each message with the time it took; it may hold reading, which also stops the messages of this read. */
	handled?(ms: number): void;
	/** Closes the connection on a malformed message, as the first protocol does, instead of replying with an error. */
	readonly disconnectsOnMalformed?: boolean;
	/** A handler threw something that is not an RpcError; the peer gets `internal error` without details. */
	failed?(error: unknown, method: string): void;
}

/**
 * Strictness towards the peer. A server replies to malformed messages and disconnects on unknown notifications and
 * replies; a client disconnects on malformed messages and ignores unknown ones.
 */
export type Role = 'server' | 'client';

/** Parts of a request that its reply needs. */
type AnsweredRequest = Pick<Request, 'id' | 'method'>;

/** A message that came after reading was paused, in the same read as the one that paused it. */
type HeldMessage = {readonly text: string; readonly payload: BinaryPayload | undefined} | {readonly unreadable: string};

interface PendingCall {
	resolve(result: unknown): void;
	reject(error: Error): void;
}

/**
 * JSON-RPC over one transport: correlates calls with replies in both directions. Requests are passed to the service as
 * they arrive and answered as they finish, in any order; closing settles every promise.
 */
export class RpcConnection {
	readonly #transport: Transport;
	readonly #role: Role;
	readonly #service: Service;
	readonly #calls = new Map<number, PendingCall>();
	#nextId = 1;
	#disconnectError: DisconnectedError | undefined;
	#hasUnreadReplies = false;
	/** Number of active `holdReading` calls; reading is paused while it is above zero. */
	#holdCount = 0;
	/** The rest of a read; bounded, because the transport reads nothing while there is one. */
	readonly #held: HeldMessage[] = [];
	#isDelivering = false;

	constructor(transport: Transport, role: Role, service: Service) {
		this.#transport = transport;
		this.#role = role;
		this.#service = service;
	}

	/** Starts reading. Separate from the constructor, so that the service can store the connection before the first message. */
	open(): void {
		this.#transport.open({
			message: (text, payload) => {
				if (this.#holdCount > 0 || this.#isDelivering) this.#held.push({text, payload});
				else this.#handle(text, payload);
			},
			unreadable: reason => {
				if (this.#holdCount > 0 || this.#isDelivering) this.#held.push({unreadable: reason});
				else this.#receive({kind: 'malformed', reason}, 0);
			},
			partial: bytes => this.#service.partial?.(bytes),
			drained: () => this.#handleDrained(),
			closed: error => this.#handleClosed(error),
		});
	}

	get peer(): string {
		return this.#transport.peer;
	}

	get backlog(): number {
		return this.#transport.backlog;
	}

	/** Bytes sent that the machine of the peer has not taken, as far as the system tells. */
	get undelivered(): number {
		return this.#transport.undelivered ?? this.#transport.backlog;
	}

	get isClosed(): boolean {
		return this.#disconnectError !== undefined;
	}

	/**
	 * An aborted call is not cancelled at the peer; its late reply is ignored. Base64 in a result may be decoded already,
	 * see `protocol/wire/binary-payload.ts`; the schema of the result accepts both forms.
	 */
	request(method: string, params: unknown, options: {signal?: AbortSignal; trace?: Trace} = {}): Promise<unknown> {
		const {signal, trace} = options;
		if (this.#disconnectError) return Promise.reject(this.#disconnectError);
		if (signal?.aborted) return Promise.reject(abortReason(signal));
		const id = this.#nextId++;
		return new Promise((resolve, reject) => {
			const frame = encodeRequest(id, method, params, trace);
			const stopListening = onAbort(signal, () => this.#removeCall(id)?.reject(abortReason(signal!)));
			this.#calls.set(id, {
				resolve: result => {
					stopListening();
					resolve(result);
				},
				reject: error => {
					stopListening();
					reject(error);
				},
			});
			this.#send(frame);
		});
	}

	notify(method: string, params: unknown): void {
		this.#send(encodeNotification(method, params));
	}

	/** Sends a notification that was encoded for several connections. */
	sendShared(notification: SharedFrame): void {
		this.#send(notification);
	}

	/** Back-pressure: reads no more messages until the returned function is called. */
	holdReading(): () => void {
		let isHeld = true;
		this.#pauseReading();
		return () => {
			if (isHeld) this.#resumeReading();
			isHeld = false;
		};
	}

	/** Whether the peer gives a sign of life within the time; one that cannot vanish without a word always does. */
	isPeerAnswering(timeoutMs: number): Promise<boolean> {
		return this.#transport.isAnswering?.(timeoutMs) ?? Promise.resolve(!this.isClosed);
	}

	/** Flushes sent messages, then closes. */
	close(): void {
		this.#transport.close();
	}

	/** Closes at once. */
	destroy(): void {
		this.#transport.destroy();
	}

	#handle(text: string, payload: BinaryPayload | undefined): void {
		const startedAt = performance.now();
		this.#receive(parseMessage(text, payload), text.length + (payload?.bytes.length ?? 0));
		this.#service.handled?.(performance.now() - startedAt);
	}

	#receive(message: Message, length: number): void {
		if (this.#disconnectError) return;
		switch (message.kind) {
			case 'request':
				this.#handleRequest(message, length);
				return;
			case 'notification':
				this.#handleNotification(message);
				return;
			case 'response':
				this.#takeCall(message.id)?.resolve(message.result);
				return;
			case 'error':
				this.#takeCall(message.id)?.reject(toRpcError(message.error));
				return;
			case 'malformed':
				this.#handleMalformed(message.reason);
				return;
		}
	}

	/** A client whose notification handler throws has lost track of the server's state, and disconnects. */
	#handleNotification(notification: Notification): void {
		try {
			if (this.#service.notification(notification) || this.#role === 'client') return;
			this.#hangUp(`unexpected notification ${notification.method.slice(0, MAX_QUOTED_CHARS)}`);
		} catch (error) {
			if (this.#role === 'server') throw error;
			const reason = errorMessage(error);
			this.#handleClosed(new Error(`exec-server notification handling failed: ${reason}`));
			this.destroy();
		}
	}

	#handleRequest(request: Request, length: number): void {
		try {
			const result = this.#service.request(request, length);
			if (result instanceof Promise) {
				this.#replyWhenSettled(request.id, request.method, result);
			} else {
				this.#reply(request, result);
			}
		} catch (error) {
			this.#replyError(request, error);
		}
	}

	/** Takes id and method and not the request, whose params would be retained until it is answered. */
	#replyWhenSettled(id: RequestId, method: string, result: Promise<unknown>): void {
		result.then(
			value => this.#reply({id, method}, value),
			(error: unknown) => this.#replyError({id, method}, error),
		);
	}

	#reply(request: AnsweredRequest, result: unknown): void {
		this.#sendResult(request, result);
		if (result instanceof JsonParts) result.release?.();
	}

	#sendResult({id, method}: AnsweredRequest, result: unknown): void {
		let frame: Frame;
		try {
			frame = encodeResult(id, result);
		} catch (error) {
			this.#replyError({id, method}, error);
			return;
		}
		if (exceedsBytes(frame, this.#maxReplyBytes)) {
			const text = `the result of ${method} exceeds the message limit of ${this.#maxReplyBytes} bytes`;
			frame = encodeError(id, {code: INTERNAL_ERROR, message: text});
		}
		this.#send(frame);
	}

	get #maxUnreadBytes(): number {
		return this.#service.maxUnreadBytes ?? MAX_UNREAD_REPLY_BYTES;
	}

	get #maxReplyBytes(): number {
		return this.#service.maxReplyBytes ?? MAX_MESSAGE_BYTES;
	}

	#replyError({id, method}: AnsweredRequest, error: unknown): void {
		if (error instanceof RpcError) {
			const frame = encodeError(id, error);
			const text = `the text of the error exceeds the message limit of ${MAX_MESSAGE_BYTES} bytes`;
			this.#send(exceedsBytes(frame, MAX_MESSAGE_BYTES) ? encodeError(id, {code: error.code, message: text}) : frame);
			return;
		}
		this.#service.failed?.(error, method);
		this.#send(encodeError(id, {code: INTERNAL_ERROR, message: 'internal error'}));
	}

	/** Removes and returns the pending call of a reply; a server disconnects on a reply to a call it never made. */
	#takeCall(id: RequestId): PendingCall | undefined {
		const call = typeof id === 'number' ? this.#removeCall(id) : undefined;
		const isLate = typeof id === 'number' && id >= 1 && id < this.#nextId;
		if (!call && !isLate && this.#role === 'server') this.#hangUp('a reply to a request that was never made');
		return call;
	}

	#removeCall(id: number): PendingCall | undefined {
		const call = this.#calls.get(id);
		this.#calls.delete(id);
		return call;
	}

	#handleMalformed(reason: string): void {
		const {kind, peer} = this.#transport;
		const noun = kind === 'websocket' ? 'websocket JSON-RPC message' : 'JSON-RPC message';
		const message = `failed to parse ${noun} from exec-server ${peer}: ${reason}`;
		if (this.#role === 'server' && !this.#service.disconnectsOnMalformed) {
			this.#send(encodeError(MALFORMED_ID, {code: INVALID_REQUEST, message}));
		} else {
			this.#hangUp(message);
		}
	}

	/** Closes at once, with the violation of the peer as the reason. */
	#hangUp(reason: string): void {
		this.#handleClosed(new PeerViolationError(reason));
		this.destroy();
	}

	#send(frame: Frame): void {
		if (this.#disconnectError) return;
		this.#transport.send(frame);
		if (!this.#hasUnreadReplies && this.#transport.backlog > this.#maxUnreadBytes) {
			this.#hasUnreadReplies = true;
			this.#pauseReading();
		}
	}

	#handleDrained(): void {
		if (this.#hasUnreadReplies) {
			this.#hasUnreadReplies = false;
			this.#resumeReading();
		}
		this.#service.drained?.();
	}

	#pauseReading(): void {
		if (this.#holdCount++ === 0) this.#transport.pause();
	}

	#resumeReading(): void {
		if (--this.#holdCount > 0 || this.#disconnectError) return;
		this.#deliverHeld(() => this.#holdCount === 0);
		if (this.#holdCount === 0) this.#transport.resume();
	}

	/** Messages that arrive meanwhile are held as well, so that the order stays. */
	#deliverHeld(mayContinue: () => boolean): void {
		if (this.#isDelivering) return;
		this.#isDelivering = true;
		while (this.#held.length > 0 && mayContinue()) {
			const next = this.#held.shift()!;
			if ('text' in next) this.#handle(next.text, next.payload);
			else this.#receive({kind: 'malformed', reason: next.unreadable}, 0);
		}
		this.#isDelivering = false;
	}

	#handleClosed(error?: Error): void {
		if (this.#disconnectError) return;
		// The peer has sent these before it left: a write or a signal among them takes effect.
		this.#deliverHeld(() => !this.#disconnectError);
		if (this.#disconnectError) return;
		this.#disconnectError = new DisconnectedError(error);
		for (const call of this.#calls.values()) call.reject(this.#disconnectError);
		this.#calls.clear();
		this.#service.closed?.(error);
	}
}

/** A string has at most three UTF-8 bytes per UTF-16 unit, so only long ones need counting. */
function exceedsBytes(frame: Frame, bytes: number): boolean {
	if (typeof frame === 'string' && frame.length <= bytes / 3) return false;
	return measureFrame(frame) > bytes;
}

function toRpcError({code, message, data}: ErrorObject): RpcError {
	return new RpcError(code, message.length > MAX_ERROR_CHARS ? truncateText(message, MAX_ERROR_CHARS) : message, data);
}

function abortReason(signal: AbortSignal): Error {
	return signal.reason instanceof Error ? signal.reason : new Error('the call was aborted', {cause: signal.reason});
}
