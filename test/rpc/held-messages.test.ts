// covers: src/rpc/rpc-connection.ts (messages behind one that holds reading)
import {expect, test} from 'vitest';
import {RpcConnection} from '../../src/rpc/rpc-connection.js';
import {StuckTransport} from '../helpers/stuck-transport.js';

/** A connection whose request `hold` stops reading. */
function holding(): {transport: StuckTransport; handled: string[]; release: () => void} {
	const transport = new StuckTransport();
	const handled: string[] = [];
	let release: (() => void) | undefined;
	const connection: RpcConnection = new RpcConnection(transport, 'server', {
		request: ({method}) => {
			handled.push(method);
			if (method === 'hold') release = connection.holdReading();
			return {};
		},
		notification: ({method}) => {
			handled.push(method);
			return true;
		},
	});
	connection.open();
	return {transport, handled, release: () => release?.()};
}

test('messages of the same read wait behind a request that holds reading, and come in order', () => {
	const {transport, handled, release} = holding();
	transport.receive({id: 1, method: 'first'}, {id: 2, method: 'hold'}, {id: 3, method: 'second'}, {method: 'third'});
	expect(handled).toEqual(['first', 'hold']);
	expect(transport.isPaused).toBe(true);
	release();
	expect(handled).toEqual(['first', 'hold', 'second', 'third']);
	expect(transport.isPaused).toBe(false);
});

test('a message that holds reading again stops the rest again', () => {
	const {transport, handled, release} = holding();
	transport.receive({id: 1, method: 'hold'}, {id: 2, method: 'hold'}, {id: 3, method: 'last'});
	release();
	expect(handled).toEqual(['hold', 'hold']);
	expect(transport.isPaused).toBe(true);
	release();
	expect(handled).toEqual(['hold', 'hold', 'last']);
});

test('messages that wait take effect when their peer has left', () => {
	const {transport, handled} = holding();
	transport.receive({id: 1, method: 'hold'}, {id: 2, method: 'process/terminate'});
	transport.destroy();
	expect(handled).toEqual(['hold', 'process/terminate']);
});
