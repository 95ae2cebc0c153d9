import {expect, test} from 'vitest';
import {RpcConnection} from '../../../src/rpc/rpc-connection.js';
import {
	FlowControl,
	MAX_PENDING_REPLY_BYTES,
	MAX_PENDING_REQUEST_BYTES,
	MAX_WAITING_REPLIES,
	OUTPUT_HIGH_WATER_BYTES,
} from '../../../src/server/connection/flow-control.js';
import {
	MAX_ACCOUNT_REPLY_BYTES,
	MAX_FIRST_REPLY_BYTES,
	ReplyShare,
} from '../../../src/server/connection/reply-share.js';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {eventually} from '../../helpers/processes.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {execServer} from '../../helpers/serving.js';
import {StuckTransport} from '../../helpers/stuck-transport.js';
import {waitTicks} from '../../helpers/ticks.js';

interface Bounded {
	readonly flow: FlowControl;
	/** The client's end. */
	readonly peer: RawPeer;
	/** Methods of the requests that were read so far. */
	readonly read: string[];
}

/** Flow control whose connection answers every request at once. */
function bounded(share?: ReplyShare): Bounded {
	const [near, far] = memoryTransportPair();
	const read: string[] = [];
	const connection: RpcConnection = new RpcConnection(near, 'server', {
		request: ({method}) => {
			read.push(method);
			return {};
		},
		notification: () => true,
	});
	const flow = new FlowControl(connection, share);
	connection.open();
	return {flow, peer: new RawPeer(far), read};
}

function deferred(): {readonly promise: Promise<void>; readonly resolve: () => void} {
	let resolve!: () => void;
	return {promise: new Promise(done => (resolve = done)), resolve};
}

test('beyond the bound of bulk requests nothing more is read until enough of them are done', async () => {
	const {flow, peer, read} = bounded();
	const [first, second] = [deferred(), deferred()];
	const within = flow.reserveRequest(MAX_PENDING_REQUEST_BYTES, () => first.promise);
	peer.send({id: 1, method: 'within', params: {}});
	await eventually(() => read.includes('within'));
	const beyond = flow.reserveRequest(1, () => second.promise);
	peer.send({id: 2, method: 'beyond', params: {}});
	await waitTicks();
	expect(read).toEqual(['within']);
	second.resolve();
	await beyond;
	await eventually(() => read.includes('beyond'));
	first.resolve();
	await within;
	peer.send({id: 3, method: 'after', params: {}});
	await eventually(() => read.includes('after'));
});

test('a request that fails gives its bytes back', async () => {
	const {flow, peer, read} = bounded();
	const failing = flow.reserveRequest(MAX_PENDING_REQUEST_BYTES + 1, () => Promise.reject(new Error('disk full')));
	await expect(failing).rejects.toThrow('disk full');
	peer.send({id: 1, method: 'next', params: {}});
	await eventually(() => read.includes('next'));
});

const FILLER = 'x'.repeat(MAX_PENDING_REPLY_BYTES + OUTPUT_HIGH_WATER_BYTES);

test('when a client is gone its streams go on, and replies that wait for room are not made', async () => {
	const transport = new StuckTransport();
	const {rpc, flow} = execServer().accept(transport);
	rpc.notify('filler', FILLER);
	const made: number[] = [];
	const replies = [1, 2].map(index => flow.reserveReply(MAX_PENDING_REPLY_BYTES, () => made.push(index)));
	const streams = [flow.whenWritable(), flow.whenWritable()];
	await waitTicks();
	expect([made, flow.canSend]).toEqual([[], false]);
	transport.destroy();
	await Promise.all(streams);
	for (const reply of replies) await expect(reply).rejects.toThrow('the connection is closed');
	expect(made).toEqual([]);
});

test('nobody waits for room on a connection that is gone, and no reply is made for it', async () => {
	const transport = new StuckTransport();
	const {rpc, flow} = execServer().accept(transport);
	rpc.notify('filler', FILLER);
	transport.destroy();
	await flow.whenWritable();
	await expect(flow.reserveReply(1, () => 'made')).rejects.toThrow('the connection is closed');
});

test('a reply counts until it was sent, also for the other connections of its account', async () => {
	const share = new ReplyShare();
	const [first, second] = [bounded(share), bounded(share)];
	const made: string[] = [];
	const large = first.flow.reserveReply(MAX_ACCOUNT_REPLY_BYTES, () => made.push('large'));
	const waiting = second.flow.reserveReply(MAX_FIRST_REPLY_BYTES + 1, () => made.push('waiting'));
	const small = second.flow.reserveReply(1, () => made.push('small'));
	await large;
	expect(made).toEqual(['large']);
	await Promise.all([waiting, small]);
	expect(made).toEqual(['large', 'waiting', 'small']);
});

test('a connection without replies makes one of ordinary size, whatever the others of its account hold', async () => {
	const share = new ReplyShare();
	const [first, second] = [bounded(share), bounded(share)];
	const held = new Deferred();
	const large = first.flow.reserveReply(MAX_ACCOUNT_REPLY_BYTES, () => held.promise);
	expect(await second.flow.reserveReply(MAX_FIRST_REPLY_BYTES, () => 'made')).toBe('made');
	held.resolve();
	await large;
});

test('no more requests are read while many replies wait for room', async () => {
	const {flow, peer, read} = bounded();
	const held = new Deferred();
	const replies = Array.from({length: MAX_WAITING_REPLIES + 2}, () =>
		flow.reserveReply(MAX_PENDING_REPLY_BYTES, () => held.promise),
	);
	peer.send({id: 1, method: 'beyond', params: {}});
	await waitTicks();
	expect(read).toEqual([]);
	held.resolve();
	await Promise.all(replies);
	await eventually(() => read.includes('beyond'));
});
