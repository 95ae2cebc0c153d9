import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {
	decodeRecord,
	encodeRecord,
	MAX_RECORDED_BYTES,
	packSize,
	RECORD_BYTES,
	type SpillRecord,
	unpackSize,
} from '../../../src/processes/spill/spill-record.js';

const number = fc.oneof(fc.nat(300), fc.maxSafeNat(), fc.constantFrom(2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1));
const record: fc.Arbitrary<SpillRecord> = fc
	.record({
		kind: fc.constantFrom('output', 'exit', 'closed', 'resize', 'input', 'dropped', 'marker'),
		stream: fc.constantFrom('stdout', 'stderr', 'pty'),
		length: fc.nat(MAX_RECORDED_BYTES),
		seq: number,
		offset: number.map(value => Math.min(value, Number.MAX_SAFE_INTEGER - MAX_RECORDED_BYTES)),
		ms: number,
	})
	.map(({stream, ...rest}) => ({...rest, stream: rest.kind === 'output' ? stream : undefined}));

test('every record is read as it was written, wherever it is', () => {
	fc.assert(
		fc.property(record, fc.nat(100), (written, at) => {
			const buffer = Buffer.alloc(at + RECORD_BYTES + 1, 0xff);
			encodeRecord(buffer, at, written);
			expect(decodeRecord(buffer, at)).toEqual(written);
			expect([buffer[at + RECORD_BYTES], at > 0 ? buffer[at - 1] : 0xff]).toEqual([0xff, 0xff]);
		}),
	);
});

test('a record has 32 bytes, little-endian, in the order kind, stream, length, number, offset, time', () => {
	const buffer = Buffer.alloc(RECORD_BYTES);
	const written = {kind: 'output', stream: 'stderr', length: 0x1234, seq: 5, offset: 2 ** 40 + 3, ms: 7} as const;
	encodeRecord(buffer, 0, written);
	expect(buffer.toString('hex').match(/.{16}/g)).toEqual([
		'0102000034120000',
		'0500000000000000',
		'0300000000010000',
		'0700000000000000',
	]);
});

test('a hole and any other bytes are no record, or one that can be written again', () => {
	expect(decodeRecord(Buffer.alloc(RECORD_BYTES), 0)).toBeUndefined();
	fc.assert(
		fc.property(fc.uint8Array({minLength: RECORD_BYTES, maxLength: RECORD_BYTES}), bytes => {
			const source = Buffer.from(bytes);
			source[0] = source[0]! % 9;
			source[1] = source[1]! % 5;
			const read = decodeRecord(source, 0);
			if (!read) return;
			const again = Buffer.alloc(RECORD_BYTES);
			encodeRecord(again, 0, read);
			expect(again).toEqual(source);
		}),
	);
});

test('the size of a terminal survives as an offset', () => {
	for (const [rows, cols] of [
		[1, 1],
		[24, 80],
		[65_535, 65_535],
	] as const) {
		expect(unpackSize(packSize(rows, cols))).toEqual({rows, cols});
	}
});
