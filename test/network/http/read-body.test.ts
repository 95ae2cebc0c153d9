import {expect, test} from 'vitest';
import {ByteBudget} from '../../../src/network/byte-budget.js';
import {BufferedBody, MAX_BUFFERED_BODY_BYTES} from '../../../src/network/http/read-body.js';
import type {BoundedReader} from '../../../src/shared/node/bounded-reader.js';

const HEAD = {status: 200, headers: []};

/** A body that arrives in these pieces. */
function arriving(...sizes: number[]): BoundedReader {
	const pieces = sizes.map(size => Buffer.alloc(size));
	return {waitForData: async () => {}, take: () => pieces.shift() ?? Buffer.alloc(0)} as unknown as BoundedReader;
}

test('a body that does not say its length may be as long as fits a reply, and not one byte longer', async () => {
	const budget = new ByteBudget(2 * MAX_BUFFERED_BODY_BYTES);
	const body = new BufferedBody(budget);
	const {length} = await body.read(HEAD, arriving(1, MAX_BUFFERED_BODY_BYTES - 1));
	expect(length).toBe(MAX_BUFFERED_BODY_BYTES);
	body.release();
	const longer = new BufferedBody(budget).read(HEAD, arriving(MAX_BUFFERED_BODY_BYTES, 1));
	// A number: nobody wants to see so many bytes should it fail.
	await expect(longer.then(bytes => bytes.length)).rejects.toThrow('larger than the 46MiB that fit a reply');
});
