import {randomBytes} from 'node:crypto';
import {expect, test} from 'vitest';
import {loadNativeBase64} from '../../../src/shared/node/native-base64.js';

const write = loadNativeBase64();

test.runIf(write)('the native encoder writes what a buffer gives, from and to any place in memory', () => {
	const source = randomBytes(200_000);
	const lengths = [0, 1, 2, 3, 4, 47, 48, 49, 63, 64, 65, 1000, 65_536, 131_072, 131_073];
	for (const [index, length] of lengths.entries()) {
		const bytes = source.subarray(index, index + length);
		const target = Buffer.alloc(300_000, '.');
		const written = write!(bytes, target.subarray(index * 7));
		const expected = bytes.toString('base64');
		expect(target.toString('latin1', index * 7, index * 7 + written) === expected).toBe(true);
		// Nothing in front of it or behind it is touched.
		expect(target.toString('latin1', 0, index * 7)).toBe('.'.repeat(index * 7));
		expect(target.subarray(index * 7 + written).every(byte => byte === '.'.charCodeAt(0))).toBe(true);
	}
});

test.runIf(write)('the native encoder writes nothing where there is no room for all of it', () => {
	const memory = Buffer.alloc(100, '.');
	expect(() => write!(randomBytes(31), memory.subarray(0, 43))).toThrow(RangeError);
	expect(memory.toString()).toBe('.'.repeat(100));
	expect(write!(randomBytes(31), memory.subarray(0, 44))).toBe(44);
});
