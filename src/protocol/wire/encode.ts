import {base64Length, encodeBase64} from '../../shared/base64.js';
import {ByteBlocks} from './binary-payload.js';
import type {ErrorObject, RequestId, Trace} from './envelope.js';
import type {SharedFrame} from './shared-frame.js';

/** One message ready to be sent: JSON text, as one string, in parts, or encoded for several connections. */
export type Frame = string | JsonParts | SharedFrame;

/**
 * JSON text in parts. A part of bytes stands for its base64, without the quotes around it: base64 needs no escaping, so
 * bulk data is spliced in instead of being scanned by `JSON.stringify`. The bytes are only borrowed: `send` of a
 * transport encodes them before it returns.
 */
export class JsonParts {
	readonly parts: readonly (string | Uint8Array)[];
	/** Called when the bytes are no longer in use; their memory may be reused. */
	readonly release: (() => void) | undefined;

	constructor(parts: readonly (string | Uint8Array)[], release?: () => void) {
		this.parts = parts;
		this.release = release;
	}

	/** Length of the UTF-8 text. */
	get byteLength(): number {
		let length = 0;
		for (const part of this.parts) length += typeof part === 'string' ? measureUtf8(part) : base64Length(part.length);
		return length;
	}

	toString(): string {
		return this.parts.map(part => (typeof part === 'string' ? part : encodeBase64(part))).join('');
	}
}

/**
 * The JSON text of a value with bytes anywhere in it, each spliced in as base64. Members that are undefined are left
 * out, as by `JSON.stringify`.
 */
export function encodeWithBytes(value: object, release?: () => void): JsonParts {
	const parts: (string | Uint8Array)[] = [];
	let text = '';
	append(value);
	parts.push(text);
	return new JsonParts(parts, release);

	function append(item: unknown): void {
		if (item instanceof Uint8Array) {
			parts.push(`${text}"`, item);
			text = '"';
		} else if (item instanceof ByteBlocks) {
			parts.push(`${text}"`, ...item.blocks);
			text = '"';
		} else if (Array.isArray(item)) {
			appendArray(item);
		} else if (typeof item === 'object' && item !== null) {
			appendObject(item as Readonly<Record<string, unknown>>);
		} else {
			text += JSON.stringify(item) ?? 'null';
		}
	}

	function appendArray(items: readonly unknown[]): void {
		text += '[';
		items.forEach((item, index) => {
			if (index > 0) text += ',';
			append(item);
		});
		text += ']';
	}

	function appendObject(members: Readonly<Record<string, unknown>>): void {
		let separator = '{';
		for (const name in members) {
			const member = members[name];
			if (member === undefined) continue;
			text += `${separator}${JSON.stringify(name)}:`;
			separator = ',';
			append(member);
		}
		text += separator === '{' ? '{}' : '}';
	}
}

export function encodeRequest(id: number, method: string, params: unknown, trace?: Trace): Frame {
	if (!(params instanceof JsonParts)) return JSON.stringify({id, method, params, ...(trace && {trace})});
	const tail = trace ? `,"trace":${JSON.stringify(trace)}}` : '}';
	return new JsonParts([`{"id":${id},"method":${JSON.stringify(method)},"params":`, ...params.parts, tail]);
}

export function encodeNotification(method: string, params: unknown): Frame {
	if (!(params instanceof JsonParts)) return JSON.stringify({method, params});
	return new JsonParts([`{"method":${JSON.stringify(method)},"params":`, ...params.parts, '}']);
}

export function encodeResult(id: RequestId, result: unknown): Frame {
	const head = `{"id":${encodeId(id)},"result":`;
	if (result instanceof JsonParts) return new JsonParts([head, ...result.parts, '}']);
	return `${head}${JSON.stringify(result) ?? 'null'}}`;
}

export function encodeError(id: RequestId, {code, message, data}: ErrorObject): Frame {
	const error = data === undefined ? {code, message} : {code, message, data};
	return `{"id":${encodeId(id)},"error":${JSON.stringify(error)}}`;
}

/** Length of the UTF-8 text in bytes. */
export function measureFrame(frame: Frame): number {
	return typeof frame === 'string' ? measureUtf8(frame) : frame.byteLength;
}

function encodeId(id: RequestId): string {
	return typeof id === 'string' ? JSON.stringify(id) : String(id);
}

const nodeBuffer = (globalThis as {Buffer?: {byteLength(text: string): number}}).Buffer;

function measureUtf8(text: string): number {
	return nodeBuffer?.byteLength(text) ?? new TextEncoder().encode(text).length;
}
