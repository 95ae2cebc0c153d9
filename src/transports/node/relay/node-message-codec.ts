import {isUtf8} from 'node:buffer';
import {measureFrame} from '../../../protocol/wire/encode.js';
import type {MessageCodec} from '../../relay/channel-transport.js';
import {deliverMessage} from '../extract-payload.js';
import {writeFrame} from '../frame-bytes.js';

/** Memory for a frame, which is written over. */
export function allocateFrame(length: number): Uint8Array {
	return Buffer.allocUnsafe(length);
}

/** Messages of a channel as those of every other transport of Node. */
export const nodeMessageCodec: MessageCodec = {
	encode(frame, headroom) {
		const bytes = Buffer.allocUnsafe(headroom + measureFrame(frame));
		writeFrame(frame, bytes, headroom);
		return bytes;
	},
	deliver(events, message) {
		const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
		if (isUtf8(bytes)) deliverMessage(events, bytes);
		else events.unreadable('invalid UTF-8');
	},
};
