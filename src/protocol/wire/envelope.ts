import {errorMessage} from '../../shared/errors.js';
import type {BinaryPayload} from './binary-payload.js';
import {parseStrictJson} from './strict-json.js';

/** Echoed in the reply with its type. A bigint is an integer beyond 2^53, which has to be echoed exactly. */
export type RequestId = string | number | bigint;

/** W3C trace context of a request. */
export interface Trace {
	readonly traceparent?: string | null;
	readonly tracestate?: string | null;
}

export interface ErrorObject {
	readonly code: number;
	readonly message: string;
	readonly data?: unknown;
}

export type Message =
	| {
			readonly kind: 'request';
			readonly id: RequestId;
			readonly method: string;
			readonly params: unknown;
			readonly trace: Trace | undefined;
			/** Returns the memory of the binary payload in the params; call when it is no longer in use. */
			readonly release?: () => void;
	  }
	| {readonly kind: 'notification'; readonly method: string; readonly params: unknown}
	| {readonly kind: 'response'; readonly id: RequestId; readonly result: unknown}
	| {readonly kind: 'error'; readonly id: RequestId; readonly error: ErrorObject}
	| {readonly kind: 'malformed'; readonly reason: string};

export type Request = Extract<Message, {kind: 'request'}>;
export type Notification = Extract<Message, {kind: 'notification'}>;

/** Id of the error reply to a malformed message. */
export const MALFORMED_ID = -1;

const MIN_I64 = -(2n ** 63n);
const MAX_I64 = 2n ** 63n - 1n;

/** Parses one message. Never throws: a message that cannot be parsed is `malformed`, with the reason. */
export function parseMessage(text: string, payload?: BinaryPayload): Message {
	const message = parseText(text);
	if (!payload) return message;
	if (!restorePayload(message, payload)) return parseText(payload.original());
	// Not wrapped in a closure: that would retain the whole message until the request is answered.
	return message.kind === 'request' ? {...message, release: payload.release} : message;
}

/** Replaces the placeholder by the bytes; false when the message does not have it in the expected member. */
function restorePayload(message: Message, {member, placeholder, bytes}: BinaryPayload): boolean {
	const holder = 'params' in message ? message.params : 'result' in message ? message.result : undefined;
	if (!isObject(holder) || holder[member] !== placeholder) return false;
	holder[member] = bytes;
	return true;
}

function parseText(text: string): Message {
	try {
		const {value, idText} = parseStrictJson(text);
		return classify(value, idText);
	} catch (error) {
		return {kind: 'malformed', reason: errorMessage(error)};
	}
}

function classify(value: unknown, idText: string | undefined): Message {
	if (!isObject(value)) throw new Error('expected a JSON-RPC object');
	if (value['method'] !== undefined) return toRequestOrNotification(value, idText);
	const reply = Object.hasOwn(value, 'result');
	if (!reply && value['error'] === undefined) throw new Error('missing field `error`');
	const id = parseRequestId(value['id'], idText);
	return reply
		? {kind: 'response', id, result: value['result']}
		: {kind: 'error', id, error: parseErrorObject(value['error'])};
}

function toRequestOrNotification(value: Record<string, unknown>, idText: string | undefined): Message {
	const {method, params} = value;
	if (typeof method !== 'string') throw new Error('invalid type for `method`, expected a string');
	if (!Object.hasOwn(value, 'id')) return {kind: 'notification', method, params};
	return {kind: 'request', id: parseRequestId(value['id'], idText), method, params, trace: parseTrace(value['trace'])};
}

function parseRequestId(id: unknown, idText: string | undefined): RequestId {
	if (typeof id === 'string') return id;
	// The common case, told without an expression.
	if (Number.isSafeInteger(id) && idText === String(id)) return id as number;
	if (id === undefined) throw new Error('missing field `id`');
	if (typeof id !== 'number' || idText === undefined || !/^-?\d+$/.test(idText)) {
		throw new Error('invalid request id, expected a string or a 64-bit integer');
	}
	if (Number.isSafeInteger(id)) return id;
	const exact = BigInt(idText);
	if (exact < MIN_I64 || exact > MAX_I64) throw new Error('request id is beyond 64 bits');
	return exact;
}

function parseErrorObject(error: unknown): ErrorObject {
	if (!isObject(error)) throw new Error('invalid type for `error`, expected a map');
	const {code, message, data} = error;
	if (typeof code !== 'number' || !Number.isInteger(code)) throw new Error('missing field `code`');
	if (typeof message !== 'string') throw new Error('missing field `message`');
	return {code, message, data};
}

function parseTrace(trace: unknown): Trace | undefined {
	if (trace === undefined || trace === null) return undefined;
	if (!isObject(trace)) throw new Error('invalid type for `trace`, expected a map');
	for (const name of ['traceparent', 'tracestate']) {
		const member = trace[name];
		if (member !== undefined && member !== null && typeof member !== 'string') {
			throw new Error(`invalid type for \`trace.${name}\`, expected a string`);
		}
	}
	return trace;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
