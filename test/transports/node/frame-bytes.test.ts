import {randomBytes} from 'node:crypto';
import {expect, test} from 'vitest';
import {encodeNotification, encodeWithBytes} from '../../../src/protocol/wire/encode.js';
import {frameToBuffer} from '../../../src/transports/node/frame-bytes.js';

test('the base64 of a frame is the same for any size, before the native encoder is in use and afterwards', () => {
	const sizes = [0, 1, 2, 3, 1023, 1024, 1025, 49_151, 49_152, 49_153, 131_072, 1_000_000];
	// 8 MiB are encoded before it is loaded.
	for (let round = 0; round < 12; round++) {
		for (const size of sizes) {
			const chunk = randomBytes(size);
			const text = frameToBuffer(encodeNotification('m', encodeWithBytes({before: 'ä', chunk, after: 1}))).toString();
			const expected = `{"method":"m","params":{"before":"ä","chunk":"${chunk.toString('base64')}","after":1}}`;
			expect(text === expected).toBe(true);
		}
	}
});
