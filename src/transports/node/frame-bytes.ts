import type {JsonParts} from '../../protocol/encode.js';

/** Writes the UTF-8 text of a frame into `target`; returns where it ends. */
export function writeParts({parts}: JsonParts, target: Buffer, start: number): number {
	let offset = start;
	for (const part of parts) {
		offset += typeof part === 'string' ? target.write(part, offset) : target.write(base64Of(part), offset, 'latin1');
	}
	return offset;
}

/** The UTF-8 text of a frame in memory of its own. */
export function partsToBuffer(frame: JsonParts): Buffer {
	const bytes = Buffer.allocUnsafe(frame.byteLength);
	writeParts(frame, bytes, 0);
	return bytes;
}

function base64Of(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
