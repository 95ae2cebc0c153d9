import {expect, test} from 'vitest';
import {eventually} from './processes.js';

test('eventually waits for a value that is there later', async () => {
	let calls = 0;
	expect(await eventually(() => ++calls === 3 && 'there')).toBe('there');
});

test('eventually does not compile with an asynchronous probe, whose promise would end the wait at once', async () => {
	// @ts-expect-error: a promise of false is not false.
	expect(await eventually(async () => false)).toBe(false);
});
