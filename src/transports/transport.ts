import type {BinaryPayload} from '../protocol/wire/binary-payload.js';
import type {Frame} from '../protocol/wire/encode.js';

export type {Frame};

/** Callbacks of the connection on top of a transport. `closed` comes once and last. */
export interface TransportEvents {
	/** One whole message; its binary payload may have been taken out of the text. */
	message(text: string, payload?: BinaryPayload): void;
	/** One whole message that is not even text. */
	unreadable(reason: string): void;
	/** Called after a read with the bytes of a long message that has not arrived completely, and with 0 once it has. */
	partial?(bytes: number): void;
	/** `backlog` fell to where sending more makes sense. */
	drained(): void;
	/** The peer is gone or the link broke; no error means a clean end. */
	closed(error?: Error): void;
}

/** Carries whole messages, in order. Knows nothing of methods, ids or sessions. */
export interface Transport {
	/** Name of its way of carrying messages, for error texts and metrics: `websocket`, `stdio`, `memory`. */
	readonly kind: string;
	/** Names the far end in logs and error texts: `websocket 127.0.0.1:51302`, `stdio`. */
	readonly peer: string;
	/** Bytes accepted by `send` that the operating system has not taken yet. */
	readonly backlog: number;
	/**
	 * Bytes accepted by `send` that the machine of the peer has not taken yet, as far as the system tells; left out where it
	 * tells nothing.
	 */
	readonly undelivered?: number | undefined;
	/**
	 * Set by a transport that cannot ping: its user has to ask a peer that was silent for the interval, and to give it up
	 * after the timeout (0 never).
	 */
	readonly asking?: {readonly intervalMs: number; readonly timeoutMs: number} | undefined;
	/** Starts delivery; nothing is reported before. */
	open(events: TransportEvents): void;
	/** Never blocks and never reorders; a message for a peer that is gone vanishes. The frame is encoded before it returns. */
	send(frame: Frame): void;
	/** Stops and restarts reading, so that a peer that never reads cannot make us hold its replies without end. */
	pause(): void;
	resume(): void;
	/**
	 * Asks the peer for a sign of life; false if there is none in time, or the transport has ended. Left out where a
	 * peer cannot vanish without a word.
	 */
	isAnswering?(timeoutMs: number): Promise<boolean>;
	/**
	 * The open transport keeps the program alive no longer: its user does, while it waits for something. Left out where the
	 * platform has no way to do that.
	 */
	unref?(): void;
	/** Sends what was accepted, then ends. */
	close(): void;
	/** Ends at once; what was not sent is dropped. */
	destroy(): void;
}
