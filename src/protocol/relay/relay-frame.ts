// RelayMessageFrame of the package codex.exec_server.relay.v1, read and written without generated code.
import {BinaryReader, BinaryWriter, WireType} from '@bufbuild/protobuf/wire';
import {readDataFrame} from './data-frames.js';

export const RELAY_VERSION = 1;
/** Longest message of the rendezvous socket. */
export const MAX_RELAY_MESSAGE_BYTES = 256 * 1024;

/** One frame. Only these bodies have a meaning today; `other` holds those that are reserved and ignored. */
export type RelayBody =
	| {readonly kind: 'data'; readonly seq: number; readonly payload: Uint8Array}
	| {readonly kind: 'resume'; readonly nextSeq: number}
	| {readonly kind: 'reset'; readonly reason: string}
	| {readonly kind: 'handshake'; readonly payload: Uint8Array}
	| {readonly kind: 'other'};

export interface RelayFrame {
	readonly streamId: string;
	readonly body: RelayBody;
}

/** A frame that cannot be used. */
export class RelayFrameError extends Error {
	override readonly name = 'RelayFrameError';
}

const FIELD = {version: 1, streamId: 2, data: 5, ack: 6, resume: 7, reset: 8, heartbeat: 9, handshake: 10} as const;
const DATA = {seq: 1, segmentIndex: 2, segmentCount: 3, payload: 4} as const;
/** Number of the only member of `resume`, `reset` and `handshake`. */
const VALUE = 1;
const ONE_SEGMENT = 1;

export function encodeRelayFrame({streamId, body}: RelayFrame): Uint8Array {
	const writer = new BinaryWriter();
	writer.tag(FIELD.version, WireType.Varint).uint32(RELAY_VERSION);
	if (streamId !== '') writer.tag(FIELD.streamId, WireType.LengthDelimited).string(streamId);
	writeBody(writer, body);
	return writer.finish();
}

function writeBody(writer: BinaryWriter, body: RelayBody): void {
	switch (body.kind) {
		case 'data':
			writer.tag(FIELD.data, WireType.LengthDelimited).fork();
			if (body.seq !== 0) writer.tag(DATA.seq, WireType.Varint).uint32(body.seq);
			writer.tag(DATA.segmentCount, WireType.Varint).uint32(ONE_SEGMENT);
			writer.tag(DATA.payload, WireType.LengthDelimited).bytes(body.payload).join();
			return;
		case 'resume':
			writer.tag(FIELD.resume, WireType.LengthDelimited).fork();
			if (body.nextSeq !== 0) writer.tag(VALUE, WireType.Varint).uint32(body.nextSeq);
			writer.join();
			return;
		case 'reset':
			writer.tag(FIELD.reset, WireType.LengthDelimited).fork();
			writer.tag(VALUE, WireType.LengthDelimited).string(body.reason).join();
			return;
		case 'handshake':
			writer.tag(FIELD.handshake, WireType.LengthDelimited).fork();
			writer.tag(VALUE, WireType.LengthDelimited).bytes(body.payload).join();
			return;
		case 'other':
			writer.tag(FIELD.heartbeat, WireType.LengthDelimited).fork().join();
	}
}

/** Throws a `RelayFrameError`. Payloads share the memory of `bytes`. */
export function decodeRelayFrame(bytes: Uint8Array): RelayFrame {
	const data = readDataFrame(bytes);
	if (data) return {streamId: data.streamId, body: {kind: 'data', seq: data.seq, payload: data.payload}};
	let frame: {version: number; streamId: string; body: RelayBody | undefined};
	try {
		frame = readFrame(bytes);
	} catch (cause) {
		if (cause instanceof RelayFrameError) throw cause;
		throw new RelayFrameError('the relay frame cannot be read', {cause});
	}
	const {version, streamId, body} = frame;
	if (version !== RELAY_VERSION) throw new RelayFrameError(`unsupported relay version ${version}`);
	if (streamId.trim() === '') throw new RelayFrameError('the relay frame has no stream id');
	if (!body) throw new RelayFrameError('the relay frame has no body');
	return {streamId, body};
}

function readFrame(bytes: Uint8Array): {version: number; streamId: string; body: RelayBody | undefined} {
	const reader = new BinaryReader(bytes);
	let version = 0;
	let streamId = '';
	let body: RelayBody | undefined;
	while (reader.pos < reader.len) {
		const [field, type] = reader.tag();
		if (field === FIELD.version && type === WireType.Varint) version = reader.uint32();
		else if (field === FIELD.streamId && type === WireType.LengthDelimited) streamId = reader.string();
		// Of several bodies the last one counts, as in every oneof.
		else if (isBody(field) && type === WireType.LengthDelimited) body = readBody(field, reader.bytes());
		else reader.skip(type, field);
	}
	return {version, streamId, body};
}

function isBody(field: number): boolean {
	return field >= FIELD.data && field <= FIELD.handshake;
}

function readBody(field: number, bytes: Uint8Array): RelayBody {
	if (field === FIELD.data) return readData(bytes);
	const {number, value} = readValue(bytes);
	if (field === FIELD.resume) return {kind: 'resume', nextSeq: number};
	if (field === FIELD.reset) {
		if (value.length === 0) throw new RelayFrameError('the reset has no reason');
		return {kind: 'reset', reason: new TextDecoder().decode(value)};
	}
	if (field !== FIELD.handshake) return {kind: 'other'};
	if (value.length === 0) throw new RelayFrameError('the handshake is empty');
	return {kind: 'handshake', payload: value};
}

function readValue(bytes: Uint8Array): {readonly number: number; readonly value: Uint8Array} {
	const reader = new BinaryReader(bytes);
	let number = 0;
	let value: Uint8Array = new Uint8Array(0);
	while (reader.pos < reader.len) {
		const [field, type] = reader.tag();
		if (field === VALUE && type === WireType.Varint) number = reader.uint32();
		else if (field === VALUE && type === WireType.LengthDelimited) value = reader.bytes();
		else reader.skip(type, field);
	}
	return {number, value};
}

function readData(bytes: Uint8Array): RelayBody {
	const reader = new BinaryReader(bytes);
	const numbers: Record<number, number> = {};
	let payload: Uint8Array = new Uint8Array(0);
	while (reader.pos < reader.len) {
		const [field, type] = reader.tag();
		if (field === DATA.payload && type === WireType.LengthDelimited) payload = reader.bytes();
		else if (type === WireType.Varint && field < DATA.payload) numbers[field] = reader.uint32();
		else reader.skip(type, field);
	}
	if (numbers[DATA.segmentIndex] || numbers[DATA.segmentCount] !== ONE_SEGMENT) {
		throw new RelayFrameError('segmented relay data is not supported');
	}
	if (payload.length === 0) throw new RelayFrameError('the relay data is empty');
	return {kind: 'data', seq: numbers[DATA.seq] ?? 0, payload};
}

/** Stream and kind of a frame, for a relay that passes its bytes on as they are. Throws a `RelayFrameError`. */
export function peekRelayFrame(bytes: Uint8Array): {readonly streamId: string; readonly kind: RelayBody['kind']} {
	const {streamId, body} = decodeRelayFrame(bytes);
	return {streamId, kind: body.kind};
}
