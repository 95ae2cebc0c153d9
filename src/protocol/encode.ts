import {base64Length, encodeBase64} from '../shared/base64.js';
import type {ErrorObject, RequestId, Trace} from './envelope.js';

/** One message ready to be sent: JSON text, or the same as UTF-8 bytes. */
export type Frame = string | Uint8Array;

/**
 * JSON text in pieces. A piece of bytes stands for its base64, without the quotes around it: base64 needs no
 * escaping, so bulk data is spliced in instead of being scanned by `JSON.stringify`.
 */
export class JsonParts {
	readonly parts: readonly (string | Uint8Array)[];

	constructor(parts: readonly (string | Uint8Array)[]) {
		this.parts = parts;
	}
}

export function encodeRequest(id: number, method: string, params: unknown, trace?: Trace): Frame {
	return JSON.stringify({id, method, params, ...(trace && {trace})});
}

export function encodeNotification(method: string, params: unknown): Frame {
	if (params instanceof JsonParts) {
		return joined([`{"method":${JSON.stringify(method)},"params":`, ...params.parts, '}']);
	}
	return JSON.stringify({method, params});
}

export function encodeResult(id: RequestId, result: unknown): Frame {
	const head = `{"id":${idText(id)},"result":`;
	if (result instanceof JsonParts) return joined([head, ...result.parts, '}']);
	return `${head}${JSON.stringify(result) ?? 'null'}}`;
}

export function encodeError(id: RequestId, {code, message, data}: ErrorObject): Frame {
	const error = data === undefined ? {code, message} : {code, message, data};
	return `{"id":${idText(id)},"error":${JSON.stringify(error)}}`;
}

export function frameLength(frame: Frame): number {
	return typeof frame === 'string'
		? (nodeBuffer?.byteLength(frame) ?? new TextEncoder().encode(frame).length)
		: frame.length;
}

function idText(id: RequestId): string {
	return typeof id === 'string' ? JSON.stringify(id) : String(id);
}

interface WritableBytes extends Uint8Array {
	write(text: string, offset: number): number;
	latin1Write(text: string, offset: number): number;
}
interface NodeBuffer {
	allocUnsafe(size: number): WritableBytes;
	byteLength(text: string): number;
}

const nodeBuffer = (globalThis as unknown as {Buffer?: NodeBuffer}).Buffer;

/** With Node's Buffer the base64 goes straight into the frame; elsewhere the pieces are joined as text. */
function joined(parts: readonly (string | Uint8Array)[]): Frame {
	if (!nodeBuffer) return parts.map(part => (typeof part === 'string' ? part : encodeBase64(part))).join('');
	let length = 0;
	for (const part of parts)
		length += typeof part === 'string' ? nodeBuffer.byteLength(part) : base64Length(part.length);
	const frame = nodeBuffer.allocUnsafe(length);
	let offset = 0;
	for (const part of parts) {
		offset += typeof part === 'string' ? frame.write(part, offset) : frame.latin1Write(encodeBase64(part), offset);
	}
	return frame;
}
