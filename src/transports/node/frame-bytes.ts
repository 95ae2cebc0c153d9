import {type Frame, measureFrame} from '../../protocol/wire/encode.js';
import {SharedFrame} from '../../protocol/wire/shared-frame.js';

/**
 * Bytes encoded at a time, a multiple of three. Of more at once the runtime makes strings that live outside its heap,
 * and those pile up before it collects them.
 */
const SLICE_BYTES = 48 * 1024;

/** Writes the UTF-8 text of a frame into `target`; returns where it ends. */
export function writeFrame(frame: Frame, target: Buffer, start: number): number {
	if (typeof frame === 'string') return start + target.write(frame, start);
	if (frame instanceof SharedFrame) {
		target.set(frame.text, start);
		return start + frame.byteLength;
	}
	let offset = start;
	for (const part of frame.parts) {
		offset += typeof part === 'string' ? target.write(part, offset) : writeBase64(part, target, offset);
	}
	return offset;
}

/** The UTF-8 text of a frame in memory of its own. */
export function frameToBuffer(frame: Frame, length = measureFrame(frame)): Buffer {
	const bytes = Buffer.allocUnsafe(length);
	writeFrame(frame, bytes, 0);
	return bytes;
}

function writeBase64(bytes: Uint8Array, target: Buffer, start: number): number {
	const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let written = 0;
	for (let from = 0; from < source.length; from += SLICE_BYTES) {
		written += target.write(source.toString('base64', from, from + SLICE_BYTES), start + written, 'latin1');
	}
	return written;
}
