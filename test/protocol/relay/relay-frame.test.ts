// covers: src/protocol/relay
import {readFileSync} from 'node:fs';
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {DataFrames, readDataFrame} from '../../../src/protocol/relay/data-frames.js';
import {
	decodeRelayFrame,
	encodeRelayFrame,
	type RelayBody,
	type RelayFrame,
	RelayFrameError,
} from '../../../src/protocol/relay/relay-frame.js';
import {
	ChannelViolationError,
	LENGTH_BYTES,
	MAX_HELD_BYTES,
	MAX_RECORD_BYTES,
	MAX_RECORDS_AHEAD,
	MessageAssembler,
	RecordPacker,
	RecordWindow,
} from '../../../src/protocol/relay/relay-records.js';

const {frames} = JSON.parse(readFileSync(new URL('../../vectors/registry-vectors.json', import.meta.url), 'utf8')) as {
	frames: Record<string, string>;
};
const PAYLOAD = Uint8Array.of(1, 2, 3);
const BODIES: Record<string, RelayBody> = {
	resume: {kind: 'resume', nextSeq: 0},
	handshake: {kind: 'handshake', payload: PAYLOAD},
	data0: {kind: 'data', seq: 0, payload: PAYLOAD},
	data1: {kind: 'data', seq: 1, payload: PAYLOAD},
	reset: {kind: 'reset', reason: 'noise_relay_protocol_error'},
};

const allocate = (length: number): Uint8Array => Buffer.allocUnsafe(length);

/** The error of a frame that cannot be read. */
function failureOf(bytes: Uint8Array): unknown {
	try {
		decodeRelayFrame(bytes);
		return undefined;
	} catch (error) {
		return error;
	}
}

/** Records that are ready after this one came first. */
function pushFirst(seq: number, bytes: number): Uint8Array[] {
	return [...new RecordWindow().push(seq, new Uint8Array(bytes))];
}

test('frames are the recorded ones byte for byte, both ways', () => {
	for (const [name, body] of Object.entries(BODIES)) {
		const bytes = encodeRelayFrame({streamId: 'stream-1', body});
		expect([name, Buffer.from(bytes).toString('hex')]).toEqual([name, frames[name]]);
		const decoded = decodeRelayFrame(bytes);
		expect({...decoded, body: plain(decoded.body)}).toEqual({streamId: 'stream-1', body: plain(body)});
	}
});

/** Bytes as numbers: views of several kinds compare unequal otherwise. */
function plain(body: RelayBody): unknown {
	return 'payload' in body ? {...body, payload: [...body.payload]} : body;
}

const bodies: fc.Arbitrary<RelayBody> = fc.oneof(
	fc.record({
		kind: fc.constant('data' as const),
		seq: fc.nat(0xffff_ffff),
		payload: fc.uint8Array({minLength: 1, maxLength: 300}),
	}),
	fc.record({kind: fc.constant('resume' as const), nextSeq: fc.nat(0xffff_ffff)}),
	fc.record({kind: fc.constant('reset' as const), reason: fc.string({minLength: 1})}),
	fc.record({kind: fc.constant('handshake' as const), payload: fc.uint8Array({minLength: 1, maxLength: 300})}),
	fc.constant({kind: 'other' as const}),
);
const anyFrame: fc.Arbitrary<RelayFrame> = fc.record({streamId: fc.uuid(), body: bodies});

test('every frame is read as it was written', () => {
	fc.assert(
		fc.property(anyFrame, frame => {
			const {streamId, body} = decodeRelayFrame(encodeRelayFrame(frame));
			expect({streamId, body: plain(body)}).toEqual({streamId: frame.streamId, body: plain(frame.body)});
		}),
	);
});

test('random and mutated bytes are a frame or a RelayFrameError, and nothing else', () => {
	const mutated = fc
		.tuple(anyFrame, fc.array(fc.tuple(fc.nat(), fc.nat(255)), {maxLength: 4}))
		.map(([frame, edits]) => {
			const bytes = Uint8Array.from(encodeRelayFrame(frame));
			for (const [at, value] of edits) bytes[at % bytes.length] = value;
			return bytes;
		});
	fc.assert(
		fc.property(fc.oneof(fc.uint8Array({maxLength: 200}), mutated), bytes => {
			expect(failureOf(bytes) ?? new RelayFrameError('none')).toBeInstanceOf(RelayFrameError);
		}),
		{numRuns: 5000},
	);
});

test('frames without a version, a stream or a body, of another version or in segments are refused', () => {
	const good = Buffer.from(frames['data0']!, 'hex');
	for (const text of [
		'',
		`0802${good.toString('hex').slice(4)}`,
		'0801120873747265616d2d31',
		'08012a0718012203010203',
		'0801120873747265616d2d312a0718022203010203',
		'0801120873747265616d2d312a021801',
	]) {
		expect(failureOf(Buffer.from(text, 'hex'))).toBeInstanceOf(RelayFrameError);
	}
});

/** The records of some messages. */
function packed(messages: readonly Uint8Array[]): Buffer[] {
	const packer = new RecordPacker();
	const records: Buffer[] = [];
	for (const message of messages) {
		packer.push(Buffer.concat([Buffer.alloc(LENGTH_BYTES, 0xff), message]));
		for (let pieces = packer.take(false); pieces.length > 0; pieces = packer.take(false)) {
			records.push(Buffer.concat(pieces));
		}
	}
	for (let pieces = packer.take(true); pieces.length > 0; pieces = packer.take(true))
		records.push(Buffer.concat(pieces));
	expect(packer.waiting).toBe(0);
	return records;
}

test('short messages share a record, and a record that is full holds the beginning of the next message', () => {
	const short = Array.from({length: 100}, (_, index) => new Uint8Array(10).fill(index));
	expect(packed(short).map(({length}) => length)).toEqual([1400]);
	const long = Array.from({length: 3}, () => new Uint8Array(50_000));
	expect(packed(long).map(({length}) => length)).toEqual([MAX_RECORD_BYTES, MAX_RECORD_BYTES, 27_132]);
});

test('data frames written and read at once are those of the codec', () => {
	const seqs = fc.oneof(fc.integer({min: 0, max: 300}), fc.integer({min: 0, max: 0xffff_ffff}));
	const payloads = fc.array(fc.uint8Array({minLength: 1, maxLength: 200}), {minLength: 1, maxLength: 3});
	fc.assert(
		fc.property(fc.stringMatching(/^[!-~]{1,40}$/), seqs, payloads, (streamId, seq, pieces) => {
			const payload = Buffer.concat(pieces);
			const bytes = new DataFrames(streamId, allocate).encode(seq, pieces);
			expect(Buffer.from(bytes).equals(encodeRelayFrame({streamId, body: {kind: 'data', seq, payload}}))).toBe(true);
			const read = readDataFrame(bytes)!;
			expect([read.streamId, read.seq, payload.equals(read.payload)]).toEqual([streamId, seq, true]);
		}),
	);
	const long = new DataFrames('stream-1', allocate).encode(70_000, [Buffer.alloc(61_456, 7)]);
	expect(readDataFrame(long)).toMatchObject({streamId: 'stream-1', seq: 70_000});
});

/** A data frame as the codec tells it; undefined if it is not read at once. */
function readAtOnce(bytes: Uint8Array): unknown {
	const read = readDataFrame(bytes);
	return read && {streamId: read.streamId, body: plain({kind: 'data', seq: read.seq, payload: read.payload})};
}

test('a data frame that was damaged or has another form is left to the codec', () => {
	const good = Buffer.from(frames['data1']!, 'hex');
	const places = fc.array(fc.tuple(fc.nat(good.length - 1), fc.integer({min: 0, max: 255})), {maxLength: 3});
	fc.assert(
		fc.property(places, fc.nat(good.length), (changes, length) => {
			const bytes = Buffer.from(good).subarray(0, length);
			for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
			const read = readAtOnce(bytes);
			if (read === undefined) return;
			// Read by the generic codec, for which a trailing unknown field makes it another form.
			const {streamId, body} = decodeRelayFrame(Buffer.concat([bytes, Buffer.from([0x18, 0])]));
			expect({streamId, body: plain(body)}).toEqual(read);
		}),
		{numRuns: 5000},
	);
});

test('messages survive the way through records of any cut', () => {
	const messages = fc.array(fc.uint8Array({minLength: 1, maxLength: 400}), {minLength: 1, maxLength: 6});
	fc.assert(
		fc.property(messages, fc.array(fc.integer({min: 1, max: 97}), {minLength: 1}), (sent, cuts) => {
			const stream = Buffer.concat(packed(sent));
			const assembler = new MessageAssembler();
			const received: Uint8Array[] = [];
			for (let at = 0, turn = 0; at < stream.length; turn++) {
				const length = cuts[turn % cuts.length]!;
				received.push(...assembler.push(stream.subarray(at, at + length)));
				at += length;
			}
			expect(received.map(message => [...message])).toEqual(sent.map(message => [...message]));
		}),
	);
});

test('a long message is split into full records, and a length out of bounds ends the stream', () => {
	const message = new Uint8Array(MAX_RECORD_BYTES * 2).fill(7);
	expect(packed([message]).map(({length}) => length)).toEqual([MAX_RECORD_BYTES, MAX_RECORD_BYTES, 4]);
	for (const header of [
		[0, 0, 0, 0],
		[4, 0, 0, 1],
	]) {
		expect(() => [...new MessageAssembler().push(Uint8Array.from(header))]).toThrow(ChannelViolationError);
	}
});

test('records are put in order, repeated ones dropped, and what is too far ahead or too much is refused', () => {
	const order = fc
		.integer({min: 1, max: 40})
		.chain(count => fc.shuffledSubarray([...Array(count).keys()], {minLength: count}));
	fc.assert(
		fc.property(order, seqs => {
			const window = new RecordWindow();
			const ready = seqs.flatMap(seq => [
				...window.push(seq, Uint8Array.of(seq)),
				...window.push(seq, Uint8Array.of(99)),
			]);
			expect(ready.map(([seq]) => seq)).toEqual([...seqs].sort((one, other) => one - other));
		}),
	);
	expect(pushFirst(MAX_RECORDS_AHEAD, 1)).toEqual([]);
	expect(() => pushFirst(MAX_RECORDS_AHEAD + 1, 1)).toThrow(ChannelViolationError);
	expect(() => pushFirst(1, MAX_HELD_BYTES + 1)).toThrow(ChannelViolationError);
});
