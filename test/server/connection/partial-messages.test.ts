import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {MAX_ACCOUNT_PARTIAL_BYTES, PartialMessages} from '../../../src/server/connection/partial-messages.js';

beforeEach(() => void vi.useFakeTimers({toFake: ['setInterval', 'clearInterval', 'performance']}));
afterEach(() => void vi.useRealTimers());

/** A connection that remembers whether it is read, and whether it was closed. */
class Receiving {
	holds = 0;
	isClosed = false;

	holdReading(): () => void {
		this.holds++;
		return () => void this.holds--;
	}

	destroy(): void {
		this.isClosed = true;
	}
}

function connections(count: number): Receiving[] {
	return Array.from({length: count}, () => new Receiving());
}

test('beyond the bound only the connection whose message is the oldest is read, until there is room', () => {
	const messages = new PartialMessages();
	const [first, second, third] = connections(3) as [Receiving, Receiving, Receiving];
	messages.report(first, MAX_ACCOUNT_PARTIAL_BYTES / 2);
	messages.report(second, MAX_ACCOUNT_PARTIAL_BYTES / 2);
	messages.report(third, 1);
	messages.report(first, MAX_ACCOUNT_PARTIAL_BYTES / 2 + 1);
	expect([first.holds, second.holds, third.holds]).toEqual([0, 0, 1]);
	messages.report(first, 0);
	expect([first.holds, second.holds, third.holds]).toEqual([0, 0, 0]);
});

test('a message that makes no progress while others wait for its memory is given up with its connection', () => {
	const messages = new PartialMessages();
	const [stalled, waiting] = connections(2) as [Receiving, Receiving];
	messages.report(stalled, MAX_ACCOUNT_PARTIAL_BYTES);
	messages.report(waiting, 1);
	vi.advanceTimersByTime(60_000);
	expect([stalled.isClosed, waiting.isClosed]).toEqual([true, false]);
	messages.report(stalled, 0);
	expect(waiting.holds).toBe(0);
});

test('a message that takes its time is not given up as long as nobody waits', () => {
	const messages = new PartialMessages();
	const [slow] = connections(1) as [Receiving];
	messages.report(slow, MAX_ACCOUNT_PARTIAL_BYTES);
	vi.advanceTimersByTime(600_000);
	expect(slow.isClosed).toBe(false);
});
