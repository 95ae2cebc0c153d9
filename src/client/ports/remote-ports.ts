import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {abortable} from '../../shared/async/timeout.js';
import {ERRORS, errorMessage} from '../../shared/errors.js';
import {randomId} from '../../shared/random-id.js';
import {ConnectionCalls} from '../files/remote/connection-calls.js';
import type {SessionClient} from '../session/session-client.js';
import {ForwardError, toForwardError} from './forward-error.js';
import {openPortConnection, type PortConnection} from './port-connection.js';
import type {Ports, PortTarget} from './ports.js';

const DEFAULT_HOST = 'localhost';

/** TCP connections from another machine. */
export class RemotePorts implements Ports {
	readonly #connect: () => Promise<SessionClient>;

	constructor(connect: () => Promise<SessionClient>) {
		this.#connect = connect;
	}

	async connect({host = DEFAULT_HOST, port, signal}: PortTarget): Promise<PortConnection> {
		signal?.throwIfAborted();
		const client = await this.#getClient();
		requireForwarding((await client.describe()).capabilities);
		const calls = new ConnectionCalls(client);
		const forwardId = randomId();
		const close = (): void => calls.release('forward/close', {forwardId});
		try {
			await abortable(calls.call('forward/open', {forwardId, host, port}), signal);
		} catch (error) {
			close();
			throw toForwardError(error);
		}
		return openPortConnection({
			read: async maxBytes => {
				const {chunk, eof} = await calls.call('forward/read', {forwardId, maxBytes});
				return {bytes: chunk, eof};
			},
			write: async (bytes, eof) => {
				await calls.call('forward/write', encodeWithBytes({forwardId, eof, chunk: bytes}));
			},
			close,
		});
	}

	async #getClient(): Promise<SessionClient> {
		try {
			return await this.#connect();
		} catch (cause) {
			throw new ForwardError('disconnected', errorMessage(cause), {cause});
		}
	}
}

/** Throws unless a server with these capabilities forwards connections. */
export function requireForwarding(capabilities: Readonly<Record<string, boolean>>): void {
	if (capabilities['portForward']) return;
	// A server that lists the capability as false implements it, and its settings turn it off.
	if (capabilities['portForward'] === undefined) {
		throw new ForwardError('unsupported', 'exec-server does not support portForward: it cannot connect to ports', {
			hint: 'Serve that machine with longarm serve --allow-forward loopback.',
		});
	}
	throw new ForwardError('refused', 'this server forwards no connections', {hint: ERRORS.FORWARD_REFUSED.hint});
}
