import {expect, onTestFinished, test, vi} from 'vitest';
import type {Backend} from '../../../src/processes/backends/backend.js';
import {spawnError} from '../../../src/processes/backends/backend.js';
import {ManagedProcess} from '../../../src/processes/managed-process.js';
import {DriverCursor} from '../../../src/processes/output/log-cursor.js';
import {RpcConnection} from '../../../src/rpc/rpc-connection.js';
import {OUTPUT_HIGH_WATER_BYTES} from '../../../src/server/connection/flow-control.js';
import {OutputPump} from '../../../src/server/connection/output-pump.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {waitTicks} from '../../helpers/ticks.js';

const KiB = 1024;
const ROOMY = {bytes: 1024 * KiB, chunks: 1000};

const REFUSING: Backend = {
	name: 'refusing',
	spawn: () => Promise.reject(spawnError(2, 'no-such')),
};

/** A connection whose other end reads when the test says so, and the pump on it. */
function delivering() {
	const [near, far] = memoryTransportPair();
	let pump: OutputPump;
	const connection = new RpcConnection(near, 'server', {
		request: () => null,
		notification: () => true,
		drained: () => pump?.pump(),
	});
	connection.open();
	const listeners: ((process: ManagedProcess) => void)[] = [];
	const onAdded = (listener: (process: ManagedProcess) => void): (() => void) => {
		listeners.push(listener);
		return () => void listeners.splice(listeners.indexOf(listener), 1);
	};
	pump = new OutputPump(connection, Object.assign([], {onAdded}));
	const add = (id: string): ManagedProcess => {
		const options = {id, argv: [id], tty: false, retention: ROOMY, timeLimitMs: undefined, keepDetachedMs: undefined};
		const process = new ManagedProcess(options, {exited: () => {}, closed: () => {}});
		for (const listener of listeners) listener(process);
		return process;
	};
	return {connection, pump, add, peer: new RawPeer(far)};
}

function say(process: ManagedProcess, bytes: number): void {
	process.log.append('stdout', Buffer.alloc(bytes));
}

function senders(peer: RawPeer): unknown[] {
	return peer.received.map(({params}) => (params as {processId: string}).processId);
}

test('output waits in the log once the transport holds enough, and goes on when that has drained', async () => {
	const {connection, add, peer} = delivering();
	const process = add('p');
	peer.transport.pause();
	for (let count = 0; count < 30; count++) say(process, 64 * KiB);
	expect(connection.backlog).toBeGreaterThanOrEqual(OUTPUT_HIGH_WATER_BYTES);
	expect(connection.backlog).toBeLessThan(OUTPUT_HIGH_WATER_BYTES + 100 * KiB);
	peer.transport.resume();
	await peer.until(() => peer.texts.length === 30, 'all output');
	expect(peer.received.map(({params}) => (params as {seq: number}).seq)).toEqual(
		Array.from({length: 30}, (_, index) => index + 1),
	);
});

test('a reply does not stand behind output that still waits in the log', async () => {
	const {connection, add, peer} = delivering();
	const process = add('p');
	peer.transport.pause();
	for (let count = 0; count < 30; count++) say(process, 64 * KiB);
	connection.notify('reply', {});
	peer.transport.resume();
	await peer.until(() => peer.texts.length === 31, 'everything');
	const position = peer.received.findIndex(({method}) => method === 'reply');
	expect(position).toBeGreaterThan(0);
	expect(position).toBeLessThanOrEqual(4);
});

test('processes take turns, so that none waits for all the output of another', async () => {
	const {add, peer} = delivering();
	const [loud, quiet] = [add('loud'), add('quiet')];
	peer.transport.pause();
	for (let count = 0; count < 40; count++) say(loud, 64 * KiB);
	say(quiet, 1);
	peer.transport.resume();
	await peer.until(() => peer.texts.length === 41, 'everything');
	// Three chunks fill the transport before the quiet one has anything to say, two more are a turn.
	expect(senders(peer).indexOf('quiet')).toBe(5);
});

test('exit and close are told with the members that clients know, under any id', async () => {
	const {add, peer} = delivering();
	const id = 'a "quoted" € id\n';
	const process = add(id);
	say(process, 3);
	process.log.recordExit({exitCode: 7, reason: 'exit'});
	process.log.recordClose();
	await peer.until(() => peer.texts.length === 3, 'everything');
	expect(peer.received).toEqual([
		{method: 'process/output', params: {processId: id, seq: 1, stream: 'stdout', chunk: 'AAAA'}},
		{method: 'process/exited', params: {processId: id, seq: 2, exitCode: 7, sandboxDenied: false}},
		{method: 'process/closed', params: {processId: id, seq: 3}},
	]);
});

test('after the stop nothing is sent and nobody is held up', async () => {
	const {pump, add, peer} = delivering();
	const process = add('p');
	say(process, 1);
	pump.stop();
	say(process, 1);
	await waitTicks();
	expect(peer.texts).toHaveLength(1);
	expect(process.log.retainedBytes).toBe(2);
});

test('a process that could not be started is not remembered', async () => {
	const {pump, add} = delivering();
	const [failed] = [add('failed'), add('running')];
	const closed = vi.spyOn(DriverCursor.prototype, 'close');
	onTestFinished(() => closed.mockRestore());
	await failed.spawn(REFUSING, {
		file: '',
		argv: [],
		cwd: Buffer.alloc(0),
		environment: new Map(),
		io: {kind: 'pipes', stdin: false},
	});
	expect(closed).toHaveBeenCalledOnce();
	pump.stop();
	expect(closed).toHaveBeenCalledTimes(2);
});
