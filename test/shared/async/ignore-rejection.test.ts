import {expect, test} from 'vitest';
import {ignoreRejection} from '../../../src/shared/async/ignore-rejection.js';

test('a rejection that nothing waits for is not reported as unhandled', async () => {
	const unhandled: unknown[] = [];
	const record = (error: unknown): void => void unhandled.push(error);
	process.on('unhandledRejection', record);
	try {
		void ignoreRejection(Promise.reject(new Error('ignored')));
		await new Promise(resolve => setImmediate(resolve));
	} finally {
		process.off('unhandledRejection', record);
	}
	expect(unhandled).toEqual([]);
});

test('the promise itself still rejects', async () => {
	await expect(ignoreRejection(Promise.reject(new Error('seen')))).rejects.toThrow('seen');
});
