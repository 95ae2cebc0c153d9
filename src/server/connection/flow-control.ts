import type {RpcConnection} from '../../rpc/rpc-connection.js';

/** Bytes of bulk replies one connection may have in the making and unsent; one reply always may. */
export const MAX_PENDING_REPLY_BYTES = 8 * 1024 * 1024;
/** Bytes of bulk requests one connection may have in the works before its next message is read. */
export const MAX_PENDING_REQUEST_BYTES = 16 * 1024 * 1024;
/** Bytes waiting in the transport above which no more output is handed to it; replies always are. */
export const OUTPUT_HIGH_WATER_BYTES = 256 * 1024;

interface Waiter {
	readonly bytes: number;
	enter(): void;
}

/**
 * What one connection may hold in memory on its way in and out. Whoever makes bulk asks here first, so that a client
 * that sends faster than the disk writes, or reads slower than the disk reads, waits instead of growing the server.
 */
export class FlowControl {
	readonly #connection: RpcConnection;
	readonly #replies: Waiter[] = [];
	readonly #streams: (() => void)[] = [];
	#replyBytes = 0;
	#requestBytes = 0;
	#resumeReading: (() => void) | undefined;

	constructor(connection: RpcConnection) {
		this.#connection = connection;
	}

	/** Whether a stream may hand the transport its next piece. */
	get canSend(): boolean {
		return this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES;
	}

	/** Settles when a stream may go on, in the order of asking; also when the connection is gone. */
	whenWritable(): Promise<void> {
		if ((this.canSend && this.#streams.length === 0) || this.#connection.closed) return Promise.resolve();
		return new Promise(resolve => this.#streams.push(resolve));
	}

	/** Makes a reply of about so many bytes as soon as there is room for it, in the order of asking. */
	async reserveReply<T>(bytes: number, make: () => T | Promise<T>): Promise<T> {
		if (this.#replies.length > 0 || !this.#fits(bytes)) {
			await new Promise<void>(enter => this.#replies.push({bytes, enter}));
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

	/** Works on a request that holds so many bytes; beyond the bound nothing more is read meanwhile. */
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

	/** The transport has taken what it was given, or is gone. */
	onDrain(): void {
		this.#admitReplies();
		while (this.#streams.length > 0 && (this.canSend || this.#connection.closed)) this.#streams.shift()!();
	}

	#fits(bytes: number): boolean {
		if (this.#connection.closed) return true;
		const {backlog} = this.#connection;
		if (this.#replyBytes === 0) return backlog < MAX_PENDING_REPLY_BYTES;
		return this.#replyBytes + backlog + bytes <= MAX_PENDING_REPLY_BYTES;
	}

	#admitReplies(): void {
		for (let next = this.#replies[0]; next && this.#fits(next.bytes); next = this.#replies[0]) {
			this.#replies.shift();
			this.#replyBytes += next.bytes;
			next.enter();
		}
	}
}
