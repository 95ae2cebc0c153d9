import {MAX_RELAY_MESSAGE_BYTES} from '../../protocol/relay/relay-frame.js';
import type {FlowBudget} from './flow-budget.js';
import {encodeLinkMessage, type LinkMessage} from './link-message.js';

/** Bytes of one direction of a link that its far socket has not taken; nothing is published beyond them. */
export const LINK_WINDOW_BYTES = 256 * 1024;
/** Bytes after which the sender is told at once how far we are. */
const ACK_EVERY_BYTES = LINK_WINDOW_BYTES / 4;
/** Frames that have not arrived, by the word of the other node, are asked for after this time; acknowledgements take up to 100 ms. */
const MAX_SILENCE_MS = 400;
/** The same while frames have arrived and their socket does not take them. */
const MAX_STALL_MS = 1000;
/** Pause before frames are asked for once more. */
const ASK_AGAIN_MS = 200;
/** Times that the same frames are sent again before the link is given up. */
const MAX_RESENDS = 5;

/** The socket at this node's side of a link, or what takes its place. */
export interface LinkSocket {
	/** One frame of the other node. */
	deliver(payload: Uint8Array): void;
	/** Frames that were delivered and are not taken yet, in bytes. */
	readonly undelivered: number;
	/** The other node has taken frames; there may be room for more. */
	writable(): void;
	/** The link is over, by the other node or for a loss on the way. Comes once, and not after `close`. */
	ended(code: number): void;
}

export interface NodeLinkOptions {
	/** 32 hexadecimal digits. */
	readonly id: string;
	/** Id of the node at the other end. */
	readonly node: string;
	readonly budget: FlowBudget;
	readonly publish: (message: Uint8Array) => void;
	/** It has bytes on their way, or frames to acknowledge. */
	readonly active: (link: NodeLink) => void;
	/** It is over: to be forgotten. */
	readonly over: (link: NodeLink) => void;
}

/** Close code of WebSocket: the peer connects again, and its session resumes. */
const GOING_AWAY = 1001;

/**
 * One end of a link between two nodes: frames in both directions, numbered and with credit. Frames of the window are kept until they
 * have arrived, and sent again when a number is missing, as after the loss of a server. If that does not help, the link ends on both
 * sides and the session resumes over another one: a frame is delivered in its order or never.
 */
export class NodeLink {
	readonly id: string;
	readonly node: string;
	/** Monotonic. */
	readonly since = performance.now();
	readonly #options: NodeLinkOptions;
	readonly #queue: Uint8Array[] = [];
	#socket: LinkSocket | undefined;
	/** Frames that were sent and have not arrived, oldest first. */
	readonly #unconfirmed: Uint8Array[] = [];
	#queuedBytes = 0;
	#sentFrames = 0;
	#sentBytes = 0;
	#arrivedBytes = 0;
	#takenBytes = 0;
	/** Monotonic: when the other node said something about our frames, or the first of them was sent. */
	#heardAt = 0;
	#receivedFrames = 0;
	#receivedBytes = 0;
	/** Number that was asked for last, and when. */
	#askedFor = -1;
	#askedAt = 0;
	#resends = 0;
	#toldReceived = 0;
	#toldConsumed = 0;
	#isHeld = false;
	#isClosed = false;
	readonly #pump = (): void => this.#publishQueued();

	constructor(options: NodeLinkOptions) {
		this.#options = options;
		this.id = options.id;
		this.node = options.node;
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** Bytes that wait for credit, or for the other socket. */
	get backlog(): number {
		return this.#queuedBytes + this.#sentBytes - this.#takenBytes;
	}

	get hasRoom(): boolean {
		return this.#queuedBytes === 0;
	}

	join(socket: LinkSocket): void {
		this.#socket = socket;
	}

	/** One frame for the other node; waits here for credit. */
	send(payload: Uint8Array): void {
		if (this.#isClosed) return;
		this.#queue.push(payload);
		this.#queuedBytes += payload.length;
		this.#publishQueued();
	}

	receive(message: LinkMessage): void {
		if (this.#isClosed) return;
		if (message.kind === 'close') this.#end(message.code);
		else if (message.kind === 'ack') this.#takeAck(message.received, message.consumed);
		else if (message.kind === 'probe') this.#answerProbe(message.seq);
		else if (message.kind === 'resend') this.#resend(message.seq);
		else this.#takeData(message.seq, message.payload);
	}

	/** The socket behind this end is not read, or is again: the other node gets no credit meanwhile. */
	hold(isHeld: boolean): void {
		this.#isHeld = isHeld;
		if (!isHeld) this.acknowledge(false);
	}

	/** Tells how far we are, at once if it is urgent or much. */
	acknowledge(isUrgent: boolean): void {
		if (this.#isClosed) return;
		const consumed = this.#consumedBytes();
		const news = Math.max(this.#receivedBytes - this.#toldReceived, consumed - this.#toldConsumed);
		if (!isUrgent && news < ACK_EVERY_BYTES) {
			if (news > 0) this.#options.active(this);
			return;
		}
		this.#toldReceived = this.#receivedBytes;
		this.#toldConsumed = consumed;
		this.#publish({kind: 'ack', link: this.id, received: this.#receivedBytes, consumed});
	}

	/** Looks after a link now and then; false if there is nothing to look after. */
	look(now: number): boolean {
		if (this.#isClosed) return false;
		const consumed = this.#consumedBytes();
		if (this.#receivedBytes > this.#toldReceived || consumed > this.#toldConsumed) this.acknowledge(true);
		const isWaiting = this.#isWaitingForWord();
		if (isWaiting && now - this.#heardAt > (this.isExpecting ? MAX_SILENCE_MS : MAX_STALL_MS)) this.probe(now);
		return isWaiting || this.#receivedBytes > this.#toldConsumed;
	}

	/** Asks how far the other end is. */
	probe(now: number): void {
		if (this.#isClosed) return;
		this.#heardAt = now;
		this.#publish({kind: 'probe', link: this.id, seq: this.#sentFrames});
	}

	/** Whether frames are on their way and the other node has said nothing about them. */
	get isExpecting(): boolean {
		return !this.#isClosed && this.#sentBytes > this.#arrivedBytes;
	}

	/** Ends it on both sides; frames that wait for credit are dropped with it. */
	close(code = GOING_AWAY): void {
		if (this.#isClosed) return;
		this.#publish({kind: 'close', link: this.id, code});
		this.#finish();
	}

	/** The other node is gone, or does not know the link. */
	drop(): void {
		this.#end(GOING_AWAY);
	}

	#isWaitingForWord(): boolean {
		return this.#sentBytes > this.#arrivedBytes || (this.#queuedBytes > 0 && this.#sentBytes > this.#takenBytes);
	}

	#consumedBytes(): number {
		if (this.#isHeld) return this.#toldConsumed;
		return Math.max(this.#toldConsumed, this.#receivedBytes - (this.#socket?.undelivered ?? 0));
	}

	#publishQueued(): void {
		if (this.#isClosed) return;
		let sent = 0;
		while (this.#queue.length > sent) {
			const payload = this.#queue[sent]!;
			const {length} = payload;
			const isInWindow = this.#sentBytes + length - this.#takenBytes <= Math.max(LINK_WINDOW_BYTES, length);
			if (!isInWindow || !this.#options.budget.take(this.node, length, this.#pump)) break;
			if (!this.#isWaitingForWord()) this.#heardAt = performance.now();
			this.#publish({kind: 'data', link: this.id, seq: this.#sentFrames, payload});
			this.#unconfirmed.push(payload);
			this.#sentFrames++;
			this.#sentBytes += length;
			this.#queuedBytes -= length;
			sent++;
		}
		if (sent === 0) return;
		this.#queue.splice(0, sent);
		this.#options.active(this);
	}

	#takeAck(received: number, consumed: number): void {
		// A peer cannot have got more than there was; such a word is no word.
		if (!(received <= this.#sentBytes && consumed <= received)) return this.#fail();
		this.#heardAt = performance.now();
		const arrived = received - this.#arrivedBytes;
		if (arrived > 0) {
			if (!this.#confirm(arrived)) return this.#fail();
			this.#arrivedBytes = received;
			this.#options.budget.release(this.node, arrived);
		}
		this.#takenBytes = Math.max(this.#takenBytes, consumed);
		this.#publishQueued();
		this.#socket?.writable();
	}

	/** Frames of so many bytes have arrived; false if that ends in the middle of one. */
	#confirm(bytes: number): boolean {
		let count = 0;
		for (let left = bytes; left > 0; count++) {
			left -= this.#unconfirmed[count]?.length ?? Number.POSITIVE_INFINITY;
			if (left < 0) return false;
		}
		this.#unconfirmed.splice(0, count);
		this.#resends = 0;
		return true;
	}

	#takeData(seq: number, payload: Uint8Array): void {
		// The same frame once more.
		if (seq < this.#receivedFrames) return;
		if (seq > this.#receivedFrames) return this.#askAgain();
		if (payload.length > MAX_RELAY_MESSAGE_BYTES) return this.#fail();
		this.#receivedFrames++;
		this.#receivedBytes += payload.length;
		this.#socket?.deliver(payload);
		this.acknowledge(false);
	}

	#answerProbe(seq: number): void {
		this.acknowledge(true);
		// NATS keeps the order of one sender: frames that were sent before the probe and are not here are lost.
		if (seq > this.#receivedFrames) this.#askAgain();
	}

	/** Frames are missing. One question is enough for all that come behind the gap. */
	#askAgain(): void {
		const now = performance.now();
		if (this.#askedFor === this.#receivedFrames && now - this.#askedAt < ASK_AGAIN_MS) return;
		this.#askedFor = this.#receivedFrames;
		this.#askedAt = now;
		this.#publish({kind: 'resend', link: this.id, seq: this.#receivedFrames});
	}

	#resend(seq: number): void {
		const first = this.#sentFrames - this.#unconfirmed.length;
		if (seq < first || seq > this.#sentFrames || ++this.#resends > MAX_RESENDS) return this.#fail();
		this.#heardAt = performance.now();
		for (const [index, payload] of this.#unconfirmed.entries()) {
			if (first + index >= seq) this.#publish({kind: 'data', link: this.id, seq: first + index, payload});
		}
	}

	/** Something is lost for good: nothing more is delivered, on either side. */
	#fail(): void {
		this.#publish({kind: 'close', link: this.id, code: GOING_AWAY});
		this.#end(GOING_AWAY);
	}

	#end(code: number): void {
		if (this.#isClosed) return;
		const socket = this.#socket;
		this.#finish();
		socket?.ended(code);
	}

	#finish(): void {
		this.#isClosed = true;
		this.#queue.length = 0;
		this.#unconfirmed.length = 0;
		this.#queuedBytes = 0;
		const {budget, over} = this.#options;
		budget.forget(this.#pump);
		budget.release(this.node, this.#sentBytes - this.#arrivedBytes);
		this.#socket = undefined;
		over(this);
	}

	#publish(message: LinkMessage): void {
		this.#options.publish(encodeLinkMessage(message));
	}
}
