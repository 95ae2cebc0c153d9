import type {TLSSocket} from 'node:tls';
import {abortable, withTimeout} from '../../../shared/async/timeout.js';
import {connectPinned, type RuntimeTlsOptions, type TlsOptions, toRuntimeOptions} from '../tls-trust.js';

/** Options of a request or a WebSocket that make it trust whom `TlsOptions` say. */
export interface SecureSocketOptions extends RuntimeTlsOptions {
	/** The connection whose certificate was checked before anything was sent. */
	readonly createConnection?: () => TLSSocket;
}

export interface SecureSocketLimits {
	readonly timeoutMs: number;
	readonly signal?: AbortSignal | undefined;
}

/** With a pinned certificate the connection is made here; nothing is needed for a URL without TLS. */
export async function secureSocketOptions(
	url: URL,
	tls: TlsOptions,
	{timeoutMs, signal}: SecureSocketLimits,
): Promise<SecureSocketOptions> {
	if (url.protocol !== 'https:' && url.protocol !== 'wss:') return {};
	const options = await toRuntimeOptions(tls);
	if (tls.fingerprint === undefined) return options;
	const {socket, checked} = connectPinned(url, tls.fingerprint, options);
	try {
		const inTime = withTimeout(checked, timeoutMs, () => {
			throw new Error(`no TLS connection after ${timeoutMs / 1000}s`);
		});
		await abortable(inTime, signal);
	} catch (error) {
		socket.destroy();
		throw error;
	}
	return {createConnection: () => socket};
}
