import {describeIdRefusal} from '../../network/forward/forwards.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/wire/error-codes.js';
import {base64Length} from '../../shared/base64.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

const DEFAULT_READ_BYTES = 256 * 1024;
const MAX_READ_BYTES = 1024 * 1024;
const MAX_PORT = 65_535;

export const forwardHandlers = {
	'forward/open': async ({forwardId, host, port}, client) => {
		requireNewId(forwardId, client);
		requireTarget(host, port);
		await client.forwards.open(forwardId, {host, port});
		return {};
	},

	'forward/read': ({forwardId, maxBytes}, client) => {
		const limit = Math.min(maxBytes ?? DEFAULT_READ_BYTES, MAX_READ_BYTES);
		if (limit === 0) throw new RpcError(INVALID_PARAMS, 'maxBytes must not be 0');
		return client.forwards.get(forwardId).read(limit, (length, take) =>
			client.flow.reserveReply(base64Length(length), () => {
				const {bytes, eof} = take();
				return encodeWithBytes({chunk: bytes, eof});
			}),
		);
	},

	'forward/write': async ({forwardId, chunk, eof}, client) => {
		await client.forwards.write(forwardId, chunk, eof);
		return {};
	},

	'forward/close': ({forwardId}, client) => {
		client.forwards.end(forwardId);
		return {};
	},
} satisfies Handlers<ClientConnection>;

function requireNewId(forwardId: string, {forwards}: ClientConnection): void {
	const refusal = forwards.findIdRefusal(forwardId);
	// A full table is no fault of the params: open() reports it.
	if (refusal && refusal !== 'full') throw new RpcError(INVALID_PARAMS, describeIdRefusal(refusal, forwardId));
}

function requireTarget(host: string, port: number): void {
	if (host === '') throw new RpcError(INVALID_PARAMS, 'host must not be empty');
	if (port < 1 || port > MAX_PORT) throw new RpcError(INVALID_PARAMS, `port must be between 1 and ${MAX_PORT}`);
}
