import {afterEach, expect, test, vi} from 'vitest';
import {IDLE_MS, Twin} from '../../../src/server/fs-worker/fs-worker.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {RawPeer} from '../../helpers/raw-peer.js';

afterEach(() => void vi.useRealTimers());

/** A twin whose program is the test, and which has answered for the first time. */
async function started() {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	let closed = 0;
	const twin = new Twin(() => near, {notified: () => {}, closed: () => void closed++});
	const asking = twin.request('fs/getMetadata', {});
	const greeting = await peer.next<{id: number}>();
	peer.send({id: greeting.id, result: {}});
	await peer.next();
	const asked = await peer.next<{id: number}>();
	expect(twin.isIdle).toBe(false);
	peer.send({id: asked.id, result: {}});
	await asking;
	return {twin, closings: () => closed};
}

test('a twin that nobody uses is kept for a while and then closed', async () => {
	const {twin, closings} = await started();
	expect(twin.isIdle).toBe(true);
	vi.advanceTimersByTime(IDLE_MS - 1);
	expect(closings()).toBe(0);
	vi.advanceTimersByTime(1);
	expect(closings()).toBe(1);
});

test('a twin that somebody holds stays, and a hold that is given up twice counts once', async () => {
	const {twin, closings} = await started();
	const [first, second] = [twin.hold(), twin.hold()];
	first();
	first();
	expect(twin.isIdle).toBe(false);
	vi.advanceTimersByTime(2 * IDLE_MS);
	expect(closings()).toBe(0);
	second();
	vi.advanceTimersByTime(IDLE_MS);
	expect([twin.isIdle, closings()]).toEqual([true, 1]);
});
