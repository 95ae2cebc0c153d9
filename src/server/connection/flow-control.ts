import {INVALID_REQUEST, RpcError} from '../../protocol/wire/error-codes.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {ReplyShare, type ShareMember} from './reply-share.js';

/** Bytes of bulk replies one connection may have pending, unsent ones included; a single larger reply is allowed. */
export const MAX_PENDING_REPLY_BYTES = 8 * 1024 * 1024;
/** Bytes of bulk requests one connection may have pending before reading is paused. */
export const MAX_PENDING_REQUEST_BYTES = 16 * 1024 * 1024;
/** High-water mark of the transport's send buffer: above it no output is sent; replies always are. */
export const OUTPUT_HIGH_WATER_BYTES = 256 * 1024;
/** Replies of one connection that wait for room before reading is paused: each keeps its request in memory. */
export const MAX_WAITING_REPLIES = 64;

interface Waiter {
	readonly bytes: number;
	admit(): void;
	refuse(error: Error): void;
}

/**
 * Flow control of one connection: bounds the bytes it holds in memory on their way in and out. Handlers reserve room
 * for bulk first, so that a client that sends faster than the disk writes, or reads slower than the disk reads, waits
 * instead of growing the server. Connections of one account share what they may hold (`ReplyShare`).
 */
export class FlowControl implements ShareMember {
	readonly #connection: RpcConnection;
	readonly #share: ReplyShare;
	readonly #replyWaiters: Waiter[] = [];
	readonly #streamWaiters: (() => void)[] = [];
	#replyBytes = 0;
	/** Bytes of finished replies that were in the transport's send buffer when it was last looked at. */
	#unsentBytes = 0;
	#requestBytes = 0;
	#resumeReading: (() => void) | undefined;
	#resumeRequests: (() => void) | undefined;

	constructor(connection: RpcConnection, share = new ReplyShare()) {
		this.#connection = connection;
		this.#share = share;
		share.join(this);
	}

	/** True if a stream may send its next chunk. */
	get canSend(): boolean {
		return this.backlog < OUTPUT_HIGH_WATER_BYTES;
	}

	get backlog(): number {
		return this.#connection.backlog;
	}

	get heldBytes(): number {
		return this.#replyBytes + this.#unsentBytes;
	}

	get maxUnreadBytes(): number {
		return this.#share.maxUnreadBytes;
	}

	/** Resolves when a stream may send, first come first served; also when the connection closes. */
	whenWritable(): Promise<void> {
		if ((this.canSend && this.#streamWaiters.length === 0) || this.#connection.isClosed) return Promise.resolve();
		return new Promise(resolve => this.#streamWaiters.push(resolve));
	}

	/**
	 * Runs `make` for a reply of about so many bytes as soon as there is room for it, first come first served. The bytes count
	 * until the reply was sent. Rejects when the connection closes before: nobody would read the reply.
	 */
	async reserveReply<T>(bytes: number, make: () => T | Promise<T>): Promise<T> {
		if (this.#connection.isClosed) throw closedError();
		if (this.#replyWaiters.length > 0 || !this.#hasRoomFor(bytes)) await this.#waitForRoom(bytes);
		else this.#addReply(bytes);
		try {
			return await make();
		} finally {
			// The reply is sent later in this turn of the event loop, and counts as unsent from then on.
			setImmediate(() => this.#addReply(-bytes));
		}
	}

	/** Runs `work` on a request that holds so many bytes; reading is paused while the pending ones exceed the bound. */
	async reserveRequest<T>(bytes: number, work: () => T | Promise<T>): Promise<T> {
		this.#requestBytes += bytes;
		if (this.#requestBytes > MAX_PENDING_REQUEST_BYTES) this.#resumeReading ??= this.#connection.holdReading();
		try {
			return await work();
		} finally {
			this.#requestBytes -= bytes;
			if (this.#requestBytes <= MAX_PENDING_REQUEST_BYTES) {
				this.#resumeReading?.();
				this.#resumeReading = undefined;
			}
		}
	}

	/** Wakes waiters; called when the transport's send buffer drained and when the connection closes. */
	onDrain(): void {
		if (this.#connection.isClosed) this.#close();
		else this.#addReply(0);
		while (this.#streamWaiters.length > 0 && (this.canSend || this.#connection.isClosed))
			this.#streamWaiters.shift()!();
	}

	admitReplies(): void {
		for (let next = this.#replyWaiters[0]; next && this.#hasRoomFor(next.bytes); next = this.#replyWaiters[0]) {
			this.#replyWaiters.shift();
			this.#replyBytes += next.bytes;
			this.#share.add(next.bytes);
			next.admit();
		}
		this.#noteWaiters();
	}

	giveUp(): void {
		this.#connection.destroy();
	}

	#hasRoomFor(bytes: number): boolean {
		const {backlog} = this;
		const hasOwnRoom =
			this.#replyBytes === 0
				? backlog < MAX_PENDING_REPLY_BYTES
				: this.#replyBytes + backlog + bytes <= MAX_PENDING_REPLY_BYTES;
		return hasOwnRoom && this.#share.hasRoom(this, bytes);
	}

	async #waitForRoom(bytes: number): Promise<void> {
		const room = new Promise<void>((admit, refuse) => this.#replyWaiters.push({bytes, admit, refuse}));
		this.#noteWaiters();
		await room;
	}

	/** Adds to the reserved bytes, and looks at the send buffer again. */
	#addReply(bytes: number): void {
		const before = this.heldBytes;
		this.#replyBytes += bytes;
		this.#unsentBytes = this.#connection.isClosed ? 0 : this.backlog;
		this.#share.add(this.heldBytes - before);
		if (bytes <= 0) this.admitReplies();
	}

	#noteWaiters(): void {
		this.#share.setWaiting(this, this.#replyWaiters.length > 0);
		if (this.#replyWaiters.length > MAX_WAITING_REPLIES) {
			this.#resumeRequests ??= this.#connection.holdReading();
			return;
		}
		const resume = this.#resumeRequests;
		this.#resumeRequests = undefined;
		resume?.();
	}

	#close(): void {
		for (const waiter of this.#replyWaiters.splice(0)) waiter.refuse(closedError());
		this.#addReply(0);
		this.#share.leave(this);
	}
}

function closedError(): RpcError {
	return new RpcError(INVALID_REQUEST, 'the connection is closed');
}
