import {
	ChannelViolationError,
	LENGTH_BYTES,
	MessageAssembler,
	RecordPacker,
	RecordWindow,
} from '../../protocol/relay/relay-records.js';
import type {Frame} from '../../protocol/wire/encode.js';
import type {ChannelCiphers} from '../../shared/noise/symmetric-state.js';
import type {Transport, TransportEvents} from '../transport.js';

/** Reason of every reset, as upstream gives it. */
export const PROTOCOL_ERROR = 'noise_relay_protocol_error';
/** Bytes of messages that a paused transport holds; the socket below may carry other streams and cannot wait. */
export const MAX_PAUSED_BYTES = 8 * 1024 * 1024;
/** Sequence numbers are 32 bits and never wrap. */
const MAX_SEQ = 0xffff_ffff;

/** The stream of a channel on a rendezvous socket. */
export interface ChannelCarrier {
	/** Names the far end in logs and errors. */
	readonly peer: string;
	/** Bytes that the operating system has not taken yet. */
	readonly backlog: number;
	/** A record in pieces. */
	sendRecord(seq: number, sealed: readonly Uint8Array[]): void;
	/** Calls back before what was sent in this turn of the event loop leaves; in a microtask where that is left out. */
	beforeFlush?(callback: () => void): void;
	/** Stops and restarts reading, where the socket carries this stream alone. */
	pause?(): void;
	resume?(): void;
	isAnswering?(timeoutMs: number): Promise<boolean>;
	/** The open socket keeps the program alive no longer, where it carries this stream alone. */
	unref?(): void;
	/** Ends the stream, with a reset if there is a reason. */
	end(reason?: string): void;
}

/** How messages become bytes and bytes messages, which the platform decides. */
export interface MessageCodec {
	/** The text of a frame behind so many bytes of any content, in memory that is the caller's. */
	encode(frame: Frame, headroom: number): Uint8Array;
	deliver(events: TransportEvents, message: Uint8Array): void;
}

/** A Noise channel as a transport: messages behind their lengths, cut into sealed and numbered records. */
export class ChannelTransport implements Transport {
	readonly kind = 'relay';
	readonly peer: string;
	readonly #ciphers: ChannelCiphers;
	readonly #carrier: ChannelCarrier;
	readonly #codec: MessageCodec;
	readonly #packer = new RecordPacker();
	readonly #window = new RecordWindow();
	readonly #assembler = new MessageAssembler();
	readonly #waiting: Uint8Array[] = [];
	#waitingBytes = 0;
	#events: TransportEvents | undefined;
	#nextSeq = 0;
	#isPaused = false;
	#willFlush = false;
	/** Set when the stream has ended; told once messages that came before are delivered. */
	#ending: {readonly error?: Error} | undefined;
	#isClosed = false;

	constructor(ciphers: ChannelCiphers, carrier: ChannelCarrier, codec: MessageCodec) {
		this.peer = carrier.peer;
		this.#ciphers = ciphers;
		this.#carrier = carrier;
		this.#codec = codec;
	}

	get backlog(): number {
		return this.#carrier.backlog + this.#packer.waiting;
	}

	open(events: TransportEvents): void {
		this.#events = events;
		this.#deliverWaiting();
	}

	/** Full records go out at once, the rest with what else is sent in this turn of the event loop. */
	send(frame: Frame): void {
		if (this.#ending) return;
		this.#packer.push(this.#codec.encode(frame, LENGTH_BYTES));
		this.#sendRecords(false);
		if (this.#willFlush || this.#packer.waiting === 0) return;
		this.#willFlush = true;
		const flush = (): void => {
			this.#willFlush = false;
			this.#sendRecords(true);
		};
		if (this.#carrier.beforeFlush) this.#carrier.beforeFlush(flush);
		else queueMicrotask(flush);
	}

	/** A record of the peer. */
	receive(seq: number, sealed: Uint8Array): void {
		if (this.#ending) return;
		try {
			for (const record of this.#window.push(seq, sealed)) {
				for (const message of this.#assembler.push(this.#ciphers.receive.open(record))) this.#take(message);
			}
		} catch (error) {
			this.#violate(error instanceof Error ? error : new ChannelViolationError('a record cannot be opened'));
		}
	}

	/** The socket takes more. */
	drained(): void {
		if (!this.#isClosed) this.#events?.drained();
	}

	/** The peer has ended the stream, or the socket is gone. */
	ended(error?: Error): void {
		this.#ending ??= error ? {error} : {};
		this.#packer.clear();
		this.#deliverWaiting();
	}

	pause(): void {
		this.#isPaused = true;
		this.#carrier.pause?.();
	}

	resume(): void {
		this.#isPaused = false;
		this.#deliverWaiting();
		if (!this.#isPaused) this.#carrier.resume?.();
	}

	isAnswering(timeoutMs: number): Promise<boolean> {
		return this.#carrier.isAnswering?.(timeoutMs) ?? Promise.resolve(!this.#ending);
	}

	unref(): void {
		this.#carrier.unref?.();
	}

	close(): void {
		this.#sendRecords(true);
		this.#end();
	}

	destroy(): void {
		this.#dropWaiting();
		this.#end();
	}

	#sendRecords(isLast: boolean): void {
		for (;;) {
			const pieces = this.#ending ? [] : this.#packer.take(isLast);
			if (pieces.length === 0) return;
			if (this.#nextSeq > MAX_SEQ) return this.#violate(new ChannelViolationError('the channel is used up'));
			this.#carrier.sendRecord(this.#nextSeq++, this.#ciphers.send.sealPieces(pieces));
		}
	}

	#take(message: Uint8Array): void {
		if (this.#events && !this.#isPaused && this.#waiting.length === 0) {
			this.#codec.deliver(this.#events, message);
			return;
		}
		this.#waitingBytes += message.length;
		if (this.#waitingBytes > MAX_PAUSED_BYTES) throw new ChannelViolationError('more was sent than is taken');
		this.#waiting.push(message);
	}

	#deliverWaiting(): void {
		const events = this.#events;
		if (!events || this.#isClosed) return;
		while (this.#waiting.length > 0 && !this.#isPaused) {
			const message = this.#waiting.shift()!;
			this.#waitingBytes -= message.length;
			this.#codec.deliver(events, message);
		}
		if (!this.#ending || this.#waiting.length > 0) return;
		this.#isClosed = true;
		events.closed(this.#ending.error);
	}

	#violate(error: Error): void {
		this.#dropWaiting();
		this.#end(error);
	}

	#end(error?: Error): void {
		if (this.#ending) return;
		this.#carrier.end(error ? PROTOCOL_ERROR : undefined);
		this.ended(error);
	}

	#dropWaiting(): void {
		this.#waiting.length = 0;
		this.#waitingBytes = 0;
	}
}
