// Messages between two nodes about one link: a client's socket at one node, its executor at the other.

const ID_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES + 4;
const COUNT_BYTES = 8;

const TYPES = ['data', 'ack', 'probe', 'close', 'resend'] as const;

export type LinkMessage =
	/** One frame; numbers begin with 0 and have no gaps. */
	| {readonly kind: 'data'; readonly link: string; readonly seq: number; readonly payload: Uint8Array}
	/** Bytes that have arrived so far, and of them those that the socket behind the node has taken. */
	| {readonly kind: 'ack'; readonly link: string; readonly received: number; readonly consumed: number}
	/** Frames from this number on have not arrived. */
	| {readonly kind: 'resend'; readonly link: string; readonly seq: number}
	/** So many frames were sent: the answer is an acknowledgement, or `resend` if some are missing. */
	| {readonly kind: 'probe'; readonly link: string; readonly seq: number}
	/** The end, with a close code of WebSocket. */
	| {readonly kind: 'close'; readonly link: string; readonly code: number};

/** `link` has 32 hexadecimal digits. */
export function encodeLinkMessage(message: LinkMessage): Uint8Array {
	const bytes = Buffer.allocUnsafe(HEAD_BYTES + tailLength(message));
	bytes[0] = TYPES.indexOf(message.kind);
	bytes.write(message.link, 1, 'hex');
	bytes.writeUInt32BE(numberOf(message), 1 + ID_BYTES);
	if (message.kind === 'data') bytes.set(message.payload, HEAD_BYTES);
	if (message.kind === 'ack') {
		bytes.writeDoubleBE(message.received, HEAD_BYTES);
		bytes.writeDoubleBE(message.consumed, HEAD_BYTES + COUNT_BYTES);
	}
	return bytes;
}

/** Undefined for bytes that are no message. The payload shares their memory. */
export function decodeLinkMessage(data: Uint8Array): LinkMessage | undefined {
	if (data.length < HEAD_BYTES) return undefined;
	const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
	const link = bytes.toString('hex', 1, 1 + ID_BYTES);
	const number = bytes.readUInt32BE(1 + ID_BYTES);
	switch (TYPES[bytes[0]!]) {
		case 'data':
			return {kind: 'data', link, seq: number, payload: bytes.subarray(HEAD_BYTES)};
		case 'probe':
			return {kind: 'probe', link, seq: number};
		case 'resend':
			return {kind: 'resend', link, seq: number};
		case 'close':
			return {kind: 'close', link, code: number};
		case 'ack': {
			if (bytes.length !== HEAD_BYTES + 2 * COUNT_BYTES) return undefined;
			const received = bytes.readDoubleBE(HEAD_BYTES);
			return {kind: 'ack', link, received, consumed: bytes.readDoubleBE(HEAD_BYTES + COUNT_BYTES)};
		}
		case undefined:
			return undefined;
	}
}

function tailLength(message: LinkMessage): number {
	if (message.kind === 'data') return message.payload.length;
	return message.kind === 'ack' ? 2 * COUNT_BYTES : 0;
}

function numberOf(message: LinkMessage): number {
	if (message.kind === 'close') return message.code;
	return message.kind === 'ack' ? 0 : message.seq;
}
