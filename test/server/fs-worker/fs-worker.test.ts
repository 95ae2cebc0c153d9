import {afterEach, expect, test, vi} from 'vitest';
import {FsWorker, IDLE_TIMEOUT_MS} from '../../../src/server/fs-worker/fs-worker.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {RawPeer} from '../../helpers/raw-peer.js';

afterEach(() => void vi.useRealTimers());

/** A worker whose program is the test, and which has answered for the first time. */
async function started() {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	let closed = 0;
	const worker = new FsWorker(() => near, {onNotification: () => {}, onClosed: () => void closed++});
	const asking = worker.request('fs/getMetadata', {});
	const greeting = await peer.next<{id: number}>();
	peer.send({id: greeting.id, result: {}});
	await peer.next();
	const asked = await peer.next<{id: number}>();
	expect(worker.isIdle).toBe(false);
	peer.send({id: asked.id, result: {}});
	await asking;
	return {worker, closings: () => closed};
}

test('a worker that nobody uses is kept for a while and then closed', async () => {
	const {worker, closings} = await started();
	expect(worker.isIdle).toBe(true);
	vi.advanceTimersByTime(IDLE_TIMEOUT_MS - 1);
	expect(closings()).toBe(0);
	vi.advanceTimersByTime(1);
	expect(closings()).toBe(1);
});

test('a worker that somebody holds stays, and a hold that is given up twice counts once', async () => {
	const {worker, closings} = await started();
	const [first, second] = [worker.hold(), worker.hold()];
	first();
	first();
	expect(worker.isIdle).toBe(false);
	vi.advanceTimersByTime(2 * IDLE_TIMEOUT_MS);
	expect(closings()).toBe(0);
	second();
	vi.advanceTimersByTime(IDLE_TIMEOUT_MS);
	expect([worker.isIdle, closings()]).toEqual([true, 1]);
});
