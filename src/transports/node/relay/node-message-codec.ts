import {isUtf8} from 'node:buffer';
import type {MessageCodec} from '../../relay/channel-transport.js';
import {deliverMessage} from '../extract-payload.js';
import {frameToBuffer} from '../frame-bytes.js';

/** Messages of a channel as those of every other transport of Node. */
export const nodeMessageCodec: MessageCodec = {
	encode: frame => frameToBuffer(frame),
	deliver(events, message) {
		const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
		if (isUtf8(bytes)) deliverMessage(events, bytes);
		else events.unreadable('invalid UTF-8');
	},
};
