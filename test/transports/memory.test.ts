import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {JsonParts} from '../../src/protocol/wire/encode.js';
import {type MemoryTransport, memoryTransportPair} from '../../src/transports/memory.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {waitTicks} from '../helpers/ticks.js';

function pair(): {left: MemoryTransport; right: MemoryTransport; leftEnd: RawPeer; rightEnd: RawPeer} {
	const [left, right] = memoryTransportPair();
	return {left, right, leftEnd: new RawPeer(left), rightEnd: new RawPeer(right)};
}

test('messages arrive in order on the other side, and never during the call that sends them', async () => {
	const {left, right, leftEnd, rightEnd} = pair();
	for (const text of ['1', '2', '3']) left.send(text);
	right.send('back');
	expect([rightEnd.texts, leftEnd.texts]).toEqual([[], []]);
	await waitTicks(1);
	expect([rightEnd.texts, leftEnd.texts]).toEqual([['1', '2', '3'], ['back']]);
});

test('a frame in pieces arrives as the text it stands for, as it was when it was sent', async () => {
	const {left, rightEnd} = pair();
	const borrowed = Buffer.from('bytes');
	left.send(new JsonParts(['"€ ', borrowed, '"']));
	borrowed.fill(0);
	expect(await rightEnd.nextText()).toBe('"€ Ynl0ZXM="');
});

test('messages wait for the other side to open', async () => {
	const [left, right] = memoryTransportPair();
	left.send('early');
	await waitTicks(1);
	expect(left.backlog).toBe(5);
	expect(await new RawPeer(right).nextText()).toBe('early');
	expect(left.backlog).toBe(0);
});

test('the backlog counts the bytes that a paused peer has not taken, and draining is reported', async () => {
	const {left, right, leftEnd, rightEnd} = pair();
	await waitTicks(1);
	const before = leftEnd.drains;
	right.pause();
	left.send('€€');
	left.send(new JsonParts([new Uint8Array(3)]));
	await waitTicks();
	expect([left.backlog, rightEnd.texts.length, leftEnd.drains]).toEqual([10, 0, before]);
	right.resume();
	await leftEnd.until(() => leftEnd.drains > before, 'draining');
	expect([left.backlog, rightEnd.texts]).toEqual([0, ['€€', 'AAAA']]);
});

test('closing delivers what was sent and ends both sides cleanly', async () => {
	const {left, leftEnd, rightEnd} = pair();
	left.send('last words');
	left.close();
	left.send('too late');
	expect(await rightEnd.untilClosed()).toEqual({error: undefined});
	expect(await leftEnd.untilClosed()).toEqual({error: undefined});
	expect(rightEnd.texts).toEqual(['last words']);
});

test('destroying drops what was under way', async () => {
	const {left, right, leftEnd, rightEnd} = pair();
	left.send('lost');
	right.send('lost too');
	left.destroy();
	await Promise.all([leftEnd.untilClosed(), rightEnd.untilClosed()]);
	expect([leftEnd.texts, rightEnd.texts]).toEqual([[], []]);
});

test('a broken link shows its error on both sides, also to one that is paused', async () => {
	const {left, right, leftEnd, rightEnd} = pair();
	right.pause();
	left.send('lost');
	const error = new Error('cable cut');
	left.fail(error);
	expect(await leftEnd.untilClosed()).toEqual({error});
	expect(await rightEnd.untilClosed()).toEqual({error});
	expect(rightEnd.texts).toEqual([]);
});

test('whatever is sent, paused and resumed, the other side gets the same messages in the same order, then the end', async () => {
	const step = fc.oneof(
		fc.record({kind: fc.constant('send' as const), text: fc.string({unit: 'binary'})}),
		fc.record({kind: fc.constantFrom('pause' as const, 'resume' as const, 'turn' as const)}),
	);
	await fc.assert(
		fc.asyncProperty(fc.array(step, {maxLength: 30}), async steps => {
			const {left, right, rightEnd} = pair();
			const sent: string[] = [];
			for (const each of steps) {
				if (each.kind === 'send') {
					sent.push(each.text);
					left.send(each.text);
				} else if (each.kind === 'turn') {
					await waitTicks(1);
				} else {
					right[each.kind]();
				}
			}
			left.close();
			right.resume();
			await rightEnd.untilClosed();
			expect(rightEnd.texts).toEqual(sent);
		}),
		{numRuns: 50},
	);
});
