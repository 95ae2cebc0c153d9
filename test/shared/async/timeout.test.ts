import {afterEach, expect, test, vi} from 'vitest';
import {abortable, waitAtMost, withTimeout} from '../../../src/shared/async/timeout.js';

afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => {});

test('a promise in time keeps its outcome, and the timer is cleared', async () => {
	vi.useFakeTimers();
	expect(await withTimeout(Promise.resolve('in time'), 1000, () => 'late')).toBe('in time');
	await expect(withTimeout(Promise.reject(new Error('failed')), 1000, () => 'late')).rejects.toThrow('failed');
	expect(vi.getTimerCount()).toBe(0);
});

test('a promise that is late is replaced by what the time-out gives or throws', async () => {
	vi.useFakeTimers();
	const late = withTimeout(never, 1000, () => 'late');
	const thrown = withTimeout(never, 1000, () => {
		throw new Error('too late');
	}).catch((error: unknown) => error);
	await vi.advanceTimersByTimeAsync(1000);
	expect(await late).toBe('late');
	expect(await thrown).toEqual(new Error('too late'));
});

test('a time beyond the longest timer is not taken for none', async () => {
	vi.useFakeTimers();
	const waiting = withTimeout(never, Number.MAX_SAFE_INTEGER, () => 'late');
	await vi.advanceTimersByTimeAsync(1000);
	expect(await Promise.race([waiting, Promise.resolve('still waiting')])).toBe('still waiting');
});

test('an aborted signal rejects with its reason, before and while waiting, and leaves no listener', async () => {
	const controller = new AbortController();
	const removed = vi.spyOn(controller.signal, 'removeEventListener');
	const waiting = abortable(never, controller.signal);
	controller.abort(new Error('given up'));
	await expect(waiting).rejects.toThrow('given up');
	expect(removed).toHaveBeenCalled();
	await expect(abortable(never, controller.signal)).rejects.toThrow('given up');
});

test('a promise keeps its outcome without a signal and with one that stays silent', async () => {
	expect(await abortable(Promise.resolve(1), undefined)).toBe(1);
	expect(await abortable(Promise.resolve(1), new AbortController().signal)).toBe(1);
});

test('waiting at most so long ends by the promise, the time or the signal', async () => {
	vi.useFakeTimers();
	await waitAtMost(Promise.resolve(), 1000);
	const timed = waitAtMost(never, 1000);
	await vi.advanceTimersByTimeAsync(1001);
	await timed;
	const controller = new AbortController();
	const aborted = waitAtMost(never, 1000, controller.signal);
	controller.abort();
	await aborted;
	expect(vi.getTimerCount()).toBe(0);
});
