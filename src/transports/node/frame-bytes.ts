import {type Frame, measureFrame} from '../../protocol/wire/encode.js';
import {SharedFrame} from '../../protocol/wire/shared-frame.js';
import {loadNativeBase64, type WriteBase64} from '../../shared/node/native-base64.js';

/**
 * Bytes encoded at a time, a multiple of three. Of more at once the runtime makes strings that live outside its heap,
 * and those pile up before it collects them.
 */
const SLICE_BYTES = 48 * 1024;
/** Bytes from which on the native encoder is worth its call. */
const MIN_NATIVE_BYTES = 1024;
/** Bytes that are encoded before it is loaded, which takes as long as encoding so many. */
const NATIVE_AFTER_BYTES = 8 * 1024 * 1024;

let bytesBeforeNative = NATIVE_AFTER_BYTES;
let writeNatively: WriteBase64 | undefined;

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
	if (bytes.length < MIN_NATIVE_BYTES) return writeThroughStrings(bytes, target, start);
	if (bytesBeforeNative > 0) {
		bytesBeforeNative -= bytes.length;
		if (bytesBeforeNative <= 0) writeNatively = loadNativeBase64();
	}
	return writeNatively ? writeNatively(bytes, target.subarray(start)) : writeThroughStrings(bytes, target, start);
}

function writeThroughStrings(bytes: Uint8Array, target: Buffer, start: number): number {
	const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let written = 0;
	for (let from = 0; from < source.length; from += SLICE_BYTES) {
		written += target.write(source.toString('base64', from, from + SLICE_BYTES), start + written, 'latin1');
	}
	return written;
}
