import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {ERRORS} from '../../shared/errors.js';
import {randomId} from '../../shared/random-id.js';
import {ConnectionCalls} from '../files/remote/connection-calls.js';
import type {SessionClient} from '../session/session-client.js';
import {ForwardError, toForwardError} from './forward-error.js';
import {openPortConnection, type PortConnection} from './port-connection.js';
import type {Ports, PortTarget} from './ports.js';

const DEFAULT_HOST = 'localhost';

/** Ports as another machine sees them. */
export class RemotePorts implements Ports {
	readonly #connect: () => Promise<SessionClient>;

	constructor(connect: () => Promise<SessionClient>) {
		this.#connect = connect;
	}

	async connect({host = DEFAULT_HOST, port, signal}: PortTarget): Promise<PortConnection> {
		signal?.throwIfAborted();
		const client = await this.#connected();
		requireForwarding(client.capabilities);
		const calls = new ConnectionCalls(client);
		const forwardId = randomId();
		const close = (): void => calls.release('forward/close', {forwardId});
		try {
			await under(signal, calls.call('forward/open', {forwardId, host, port}));
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

	async #connected(): Promise<SessionClient> {
		try {
			return await this.#connect();
		} catch (cause) {
			throw new ForwardError('disconnected', cause instanceof Error ? cause.message : String(cause), {cause});
		}
	}
}

/** Throws unless a server with these capabilities connects to ports for its clients. */
export function requireForwarding(capabilities: Readonly<Record<string, boolean>>): void {
	if (capabilities['portForward']) return;
	// Who names the capability knows how, and was told not to.
	if (capabilities['portForward'] === undefined) {
		throw new ForwardError('unsupported', 'exec-server does not support portForward: it cannot connect to ports', {
			hint: 'Serve that machine with longarm serve --allow-forward loopback.',
		});
	}
	throw new ForwardError('refused', 'this server forwards no connections', {hint: ERRORS.FORWARD_REFUSED.hint});
}

async function under<T>(signal: AbortSignal | undefined, call: Promise<T>): Promise<T> {
	let stopListening: (() => void) | undefined;
	const aborted = new Promise<never>((_resolve, reject) => {
		stopListening = onAbort(signal, reject);
	});
	try {
		return await Promise.race([call, aborted]);
	} finally {
		stopListening?.();
	}
}
