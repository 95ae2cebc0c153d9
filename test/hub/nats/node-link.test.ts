// covers: src/hub/nats/node-link.ts, src/hub/nats/flow-budget.ts, src/hub/nats/link-message.ts
import {expect, test} from 'vitest';
import {FlowBudget, MAX_BYTES_ON_THE_WAY, MAX_BYTES_TO_ONE_NODE} from '../../../src/hub/nats/flow-budget.js';
import {decodeLinkMessage, encodeLinkMessage} from '../../../src/hub/nats/link-message.js';
import {LINK_WINDOW_BYTES, type LinkSocket, NodeLink} from '../../../src/hub/nats/node-link.js';

const ID = 'ab'.repeat(16);
const FRAME = Buffer.alloc(60_000, 'x');

/** One end of a link; messages wait in `sent` until the test carries them to the other. */
class TestEnd implements LinkSocket {
	readonly sent: Uint8Array[] = [];
	readonly delivered: Uint8Array[] = [];
	readonly codes: number[] = [];
	/** Frames that the socket behind this end has not taken, in bytes. */
	undelivered = 0;
	readonly link: NodeLink;

	constructor(budget = new FlowBudget(), node = 'other') {
		this.link = new NodeLink({
			id: ID,
			node,
			budget,
			publish: message => this.sent.push(message),
			active: () => {},
			over: () => {},
		});
		this.link.join(this);
	}

	deliver(payload: Uint8Array): void {
		this.delivered.push(payload);
	}

	writable(): void {}

	ended(code: number): void {
		this.codes.push(code);
	}

	/** Carries what was sent to the other end, without the messages of these places. */
	carryTo(other: TestEnd, ...lost: readonly number[]): void {
		for (const [index, bytes] of this.sent.splice(0).entries()) {
			if (!lost.includes(index)) other.link.receive(decodeLinkMessage(bytes)!);
		}
	}
}

test('messages between nodes come back as they were, and bytes that are none are nothing', () => {
	for (const message of [
		{kind: 'data', link: ID, seq: 4_000_000_000, payload: Buffer.from('frame')},
		{kind: 'ack', link: ID, received: 2 ** 40, consumed: 2 ** 39 + 1},
		{kind: 'probe', link: ID, seq: 7},
		{kind: 'close', link: ID, code: 1008},
		{kind: 'resend', link: ID, seq: 3},
	] as const) {
		expect(decodeLinkMessage(encodeLinkMessage(message))).toEqual(message);
	}
	for (const length of [0, 1, 20]) expect(decodeLinkMessage(Buffer.alloc(length))).toBeUndefined();
	expect(decodeLinkMessage(Buffer.alloc(40, 9))).toBeUndefined();
});

test('nothing is published beyond the window, and everything arrives in order as the other end takes it', () => {
	const [near, far] = [new TestEnd(), new TestEnd()];
	far.undelivered = Number.MAX_SAFE_INTEGER;
	for (let index = 0; index < 20; index++) near.link.send(Buffer.from([index, ...FRAME.subarray(1)]));
	const published = near.sent.reduce((sum, bytes) => sum + bytes.length, 0);
	expect(near.sent.length).toBe(Math.floor(LINK_WINDOW_BYTES / FRAME.length));
	expect(published).toBeLessThan(LINK_WINDOW_BYTES + 200);
	near.carryTo(far);
	// The socket behind the far end takes nothing: no credit.
	far.link.acknowledge(true);
	far.carryTo(near);
	expect(near.sent).toEqual([]);
	far.undelivered = 0;
	for (let round = 0; round < 20; round++) {
		far.link.acknowledge(true);
		far.carryTo(near);
		near.carryTo(far);
	}
	expect(far.delivered.map(bytes => bytes[0])).toEqual(Array.from({length: 20}, (_, index) => index));
	expect(near.link.backlog).toBe(FRAME.length * 20 - far.delivered.reduce((sum, {length}) => sum + length, 0));
});

test('a frame that is lost is sent again with those behind it, each delivered once and in order', () => {
	const [near, far] = [new TestEnd(), new TestEnd()];
	for (const text of ['one', 'two', 'three']) near.link.send(Buffer.from(text));
	near.carryTo(far, 1);
	expect(far.delivered.map(String)).toEqual(['one']);
	near.link.send(Buffer.from('four'));
	far.carryTo(near);
	near.carryTo(far);
	expect(far.delivered.map(String)).toEqual(['one', 'two', 'three', 'four']);
	expect([near.codes, far.codes]).toEqual([[], []]);
});

test('a link that loses the same frame again and again ends on both sides, and nothing behind the gap is delivered', () => {
	const [near, far] = [new TestEnd(), new TestEnd()];
	for (const text of ['one', 'two', 'three']) near.link.send(Buffer.from(text));
	near.carryTo(far, 1);
	for (let round = 1; !near.link.isClosed; round++) {
		expect(round).toBeLessThan(20);
		// The question for the missing frame, as if each came after its pause.
		near.link.receive({kind: 'resend', link: ID, seq: 1});
		if (!near.link.isClosed) near.carryTo(far, 0);
		far.sent.length = 0;
	}
	near.carryTo(far);
	expect([near.codes, far.codes]).toEqual([[1001], [1001]]);
	expect(far.delivered.map(String)).toEqual(['one']);
	near.link.send(Buffer.from('four'));
	expect(near.sent).toEqual([]);
});

test('frames that have been confirmed are not kept, and a question for them ends the link', () => {
	const [near, far] = [new TestEnd(), new TestEnd()];
	near.link.send(Buffer.from('gone'));
	near.carryTo(far);
	far.link.acknowledge(true);
	far.carryTo(near);
	near.link.receive({kind: 'resend', link: ID, seq: 0});
	expect(near.codes).toEqual([1001]);
});

test('a last frame that is lost is noticed by a question, and so is an acknowledgement', () => {
	const [near, far] = [new TestEnd(), new TestEnd()];
	near.link.send(Buffer.from('kept'));
	near.carryTo(far);
	far.link.acknowledge(true);
	// The acknowledgement is lost, not the frame.
	far.sent.length = 0;
	near.link.look(performance.now() + 2000);
	near.carryTo(far);
	far.carryTo(near);
	expect([near.link.isExpecting, near.link.isClosed]).toEqual([false, false]);
	near.link.send(Buffer.from('last'));
	near.carryTo(far, 0);
	near.link.look(performance.now() + 4000);
	near.carryTo(far);
	far.carryTo(near);
	near.carryTo(far);
	expect(far.delivered.map(String)).toEqual(['kept', 'last']);
});

test('a frame that comes twice is delivered once, and an acknowledgement of more than was sent ends the link', () => {
	const [near, far] = [new TestEnd(), new TestEnd()];
	near.link.send(Buffer.from('once'));
	near.sent.push(near.sent[0]!);
	near.carryTo(far);
	expect(far.delivered.map(String)).toEqual(['once']);
	near.link.receive({kind: 'ack', link: ID, received: 5, consumed: 5});
	expect(near.codes).toEqual([1001]);
});

test('all links together have a bound, and one node that stands still leaves room for the others', async () => {
	const budget = new FlowBudget();
	const stuck = Array.from({length: 40}, () => new TestEnd(budget, 'stuck'));
	for (const {link} of stuck) for (let index = 0; index < 4; index++) link.send(FRAME);
	expect(budget.total).toBeLessThanOrEqual(MAX_BYTES_TO_ONE_NODE);
	const other = new TestEnd(budget, 'living');
	other.link.send(FRAME);
	expect(other.sent.length).toBe(1);
	expect(MAX_BYTES_TO_ONE_NODE).toBeLessThan(MAX_BYTES_ON_THE_WAY);
	// The node is given up: its share is free again.
	for (const {link} of stuck) link.drop();
	expect(budget.total).toBe(FRAME.length);
});
