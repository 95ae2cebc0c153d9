import type {RpcConnection} from '../../rpc/rpc-connection.js';

/** Bytes of bulk replies one connection may have pending, unsent ones included; a single larger reply is allowed. */
export const MAX_PENDING_REPLY_BYTES = 8 * 1024 * 1024;
/** Bytes of bulk requests one connection may have pending before reading is paused. */
export const MAX_PENDING_REQUEST_BYTES = 16 * 1024 * 1024;
/** High-water mark of the transport's send buffer: above it no output is sent; replies always are. */
export const OUTPUT_HIGH_WATER_BYTES = 256 * 1024;

interface Waiter {
	readonly bytes: number;
	admit(): void;
}

/**
 * Flow control of one connection: bounds the bytes it holds in memory on their way in and out. Handlers reserve room
 * for bulk first, so that a client that sends faster than the disk writes, or reads slower than the disk reads, waits
 * instead of growing the server.
 */
export class FlowControl {
	readonly #connection: RpcConnection;
	readonly #replyWaiters: Waiter[] = [];
	readonly #streamWaiters: (() => void)[] = [];
	#replyBytes = 0;
	#requestBytes = 0;
	#resumeReading: (() => void) | undefined;

	constructor(connection: RpcConnection) {
		this.#connection = connection;
	}

	/** True if a stream may send its next chunk. */
	get canSend(): boolean {
		return this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES;
	}

	/** Resolves when a stream may send, first come first served; also when the connection closes. */
	whenWritable(): Promise<void> {
		if ((this.canSend && this.#streamWaiters.length === 0) || this.#connection.isClosed) return Promise.resolve();
		return new Promise(resolve => this.#streamWaiters.push(resolve));
	}

	/** Runs `make` for a reply of about so many bytes as soon as there is room for it, first come first served. */
	async reserveReply<T>(bytes: number, make: () => T | Promise<T>): Promise<T> {
		if (this.#replyWaiters.length > 0 || !this.#hasRoomFor(bytes)) {
			await new Promise<void>(admit => this.#replyWaiters.push({bytes, admit}));
		} else {
			this.#replyBytes += bytes;
		}
		try {
			return await make();
		} finally {
			this.#replyBytes -= bytes;
			this.#admitReplies();
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
		this.#admitReplies();
		while (this.#streamWaiters.length > 0 && (this.canSend || this.#connection.isClosed))
			this.#streamWaiters.shift()!();
	}

	#hasRoomFor(bytes: number): boolean {
		if (this.#connection.isClosed) return true;
		const {backlog} = this.#connection;
		if (this.#replyBytes === 0) return backlog < MAX_PENDING_REPLY_BYTES;
		return this.#replyBytes + backlog + bytes <= MAX_PENDING_REPLY_BYTES;
	}

	#admitReplies(): void {
		for (let next = this.#replyWaiters[0]; next && this.#hasRoomFor(next.bytes); next = this.#replyWaiters[0]) {
			this.#replyWaiters.shift();
			this.#replyBytes += next.bytes;
			next.admit();
		}
	}
}
