// covers: src/rpc/rpc-connection.ts, src/transports/node/web-socket.ts, src/server/connection/client-connection.ts (reasons)
import {expect, test} from 'vitest';
import type {LogFields, Logger} from '../../../src/shared/logger.js';
import {eventually} from '../../helpers/processes.js';
import {connected, serving} from '../../helpers/serving.js';

const INITIALIZE = JSON.stringify({id: 1, method: 'initialize', params: {clientName: 'test'}});

const ignore = (): void => {};

function recorder(): {logger: Logger; warnings: {message: string; fields: LogFields | undefined}[]} {
	const warnings: {message: string; fields: LogFields | undefined}[] = [];
	const logger: Logger = {
		debug: ignore,
		info: ignore,
		error: ignore,
		warn: (message, fields) => void warnings.push({message, fields}),
		with: () => logger,
	};
	return {logger, warnings};
}

test.each<[string, string | Buffer, string]>([
	['an unknown notification', '{"method":"nonsense"}', 'unexpected notification nonsense'],
	['a reply to nothing', '{"id":7,"result":{}}', 'a reply to a request that was never made'],
	['a frame against the rules', Buffer.from([0xf1, 0x80, 0, 0, 0, 0]), 'Invalid WebSocket frame'],
	[
		'a message that is too large',
		Buffer.from([0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
		'Max payload size exceeded',
	],
])('the log says why the server hangs up on %s', async (_, sent, reason) => {
	const {logger, warnings} = recorder();
	const {url} = await serving({logger});
	const socket = await connected(url);
	const closed = new Promise(resolve => {
		socket.on('error', () => {}).once('close', resolve);
	});
	socket.send(INITIALIZE);
	if (typeof sent === 'string') socket.send(sent);
	else (socket as unknown as {_socket: NodeJS.WritableStream})._socket.write(sent);
	await closed;
	expect(await eventually(() => warnings[0])).toEqual({
		message: 'hung up on a client that broke the protocol',
		fields: {
			peer: expect.stringContaining('websocket 127.0.0.1:') as string,
			reason: expect.stringContaining(reason) as string,
		},
	});
});

test('a client that leaves without a word is no violation', async () => {
	const {logger, warnings} = recorder();
	const {url, ends} = await serving({logger});
	const socket = await connected(url);
	socket.terminate();
	await eventually(() => ends[0]!.rpc.isClosed);
	expect(warnings).toEqual([]);
});
