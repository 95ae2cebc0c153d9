import {expect, test} from 'vitest';
import {type Frame, measureFrame} from '../../../src/protocol/wire/encode.js';
import {RpcConnection} from '../../../src/rpc/rpc-connection.js';
import {
	FlowControl,
	MAX_PENDING_REPLY_BYTES,
	MAX_PENDING_REQUEST_BYTES,
	OUTPUT_HIGH_WATER_BYTES,
} from '../../../src/server/connection/flow-control.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import type {Transport, TransportEvents} from '../../../src/transports/transport.js';
import {eventually} from '../../helpers/processes.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {execServer} from '../../helpers/serving.js';
import {waitTicks} from '../../helpers/ticks.js';

interface Bounded {
	readonly flow: FlowControl;
	/** The client's end. */
	readonly peer: RawPeer;
	/** Methods of the requests that were read so far. */
	readonly read: string[];
}

/** Flow control whose connection answers every request at once. */
function bounded(): Bounded {
	const [near, far] = memoryTransportPair();
	const read: string[] = [];
	const connection: RpcConnection = new RpcConnection(near, 'server', {
		request: ({method}) => {
			read.push(method);
			return {};
		},
		notification: () => true,
	});
	const flow = new FlowControl(connection);
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

/** A transport whose peer takes nothing: what is sent stays in its backlog, whatever happens. */
class StuckTransport implements Transport {
	readonly kind = 'memory';
	readonly peer = 'stuck';
	backlog = 0;
	#events: TransportEvents | undefined;

	open(events: TransportEvents): void {
		this.#events = events;
	}

	send(frame: Frame): void {
		this.backlog += measureFrame(frame);
	}

	pause(): void {}

	resume(): void {}

	close(): void {
		this.destroy();
	}

	destroy(): void {
		const events = this.#events;
		this.#events = undefined;
		events?.closed();
	}
}

const FILLER = 'x'.repeat(MAX_PENDING_REPLY_BYTES + OUTPUT_HIGH_WATER_BYTES);

test('replies and streams that wait for room go on when their client is gone', async () => {
	const transport = new StuckTransport();
	const {rpc, flow} = execServer().accept(transport);
	rpc.notify('filler', FILLER);
	const made: number[] = [];
	const replies = [1, 2].map(index => flow.reserveReply(MAX_PENDING_REPLY_BYTES, () => made.push(index)));
	const streams = [flow.whenWritable(), flow.whenWritable()];
	await waitTicks();
	expect([made, flow.canSend]).toEqual([[], false]);
	transport.destroy();
	await Promise.all([...replies, ...streams]);
	expect(made).toEqual([1, 2]);
});

test('nobody waits for room on a connection that is gone', async () => {
	const transport = new StuckTransport();
	const {rpc, flow} = execServer().accept(transport);
	rpc.notify('filler', FILLER);
	transport.destroy();
	await flow.whenWritable();
	expect(await Promise.all([1, 2].map(index => flow.reserveReply(MAX_PENDING_REPLY_BYTES, () => index)))).toEqual([
		1, 2,
	]);
});
