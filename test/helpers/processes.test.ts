import {expect, test} from 'vitest';
import {askUntil, eventually} from './processes.js';

test('eventually waits for a value that is there later', async () => {
	let calls = 0;
	expect(await eventually(() => ++calls === 3 && 'there')).toBe('there');
});

test('eventually does not compile with an asynchronous probe, whose promise would end the wait at once', async () => {
	// @ts-expect-error: a promise of false is not false.
	expect(await eventually(async () => false)).toBe(false);
});

test('askUntil lets timers run between answers that are there at once', async () => {
	let isOver = false;
	setTimeout(() => {
		isOver = true;
	}, 0);
	expect(
		await askUntil(
			async () => isOver,
			answer => answer,
		),
	).toBe(true);
});

test('askUntil gives up, with the last answer', async () => {
	let asked = 0;
	const never = askUntil(
		async () => `answer ${++asked}`,
		() => false,
		0,
	);
	await expect(never).rejects.toThrow(/^not within 0 ms, but "answer \d+"$/);
});
