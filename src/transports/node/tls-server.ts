import type {Server} from 'node:http';
import {createServer, type Server as SecureServer, type ServerOptions} from 'node:https';
import type {Socket} from 'node:net';
import {createSecureContext, type TLSSocket} from 'node:tls';
import {LongarmError} from '../../shared/errors.js';

/** How long a peer may take to agree on keys, however slowly it sends. */
const HANDSHAKE_MS = 10_000;
/** Below 1.3 only ciphers with forward secrecy that authenticate what they encrypt; those of 1.3 all do. */
const TLS_RULES = {
	minVersion: 'TLSv1.2',
	ciphers: [
		'TLS_AES_256_GCM_SHA384',
		'TLS_CHACHA20_POLY1305_SHA256',
		'TLS_AES_128_GCM_SHA256',
		'ECDHE+AESGCM',
		'ECDHE+CHACHA20',
	].join(':'),
} as const;

/** PEM texts: the certificate, followed by those of its issuers if need be, and its private key. */
export interface TlsIdentity {
	readonly cert: string | Buffer;
	readonly key: string | Buffer;
}

export interface TlsServerOptions extends Pick<ServerOptions, 'noDelay' | 'headersTimeout' | 'requestTimeout'> {
	readonly connectionsCheckingInterval?: number;
	readonly handshakeMs?: number | undefined;
}

export interface TlsServer {
	readonly server: Server;
	/** Hangs up on peers whose handshake is not over. */
	readonly giveUpHandshakes: () => void;
}

/** An HTTPS server that hangs up on peers that do not finish the handshake in time. */
export function createTlsServer(identity: TlsIdentity, {handshakeMs, ...options}: TlsServerOptions): TlsServer {
	requireUsable(identity);
	const timeoutMs = handshakeMs ?? HANDSHAKE_MS;
	const {cert, key} = identity;
	const server = createServer({...options, cert, key, ...TLS_RULES, handshakeTimeout: timeoutMs});
	const giveUpHandshakes = boundHandshakes(server, timeoutMs);
	return {server, giveUpHandshakes};
}

/** For connections from now on; those that are open keep the keys they agreed on. */
export function replaceIdentity(server: Server, identity: TlsIdentity): void {
	requireUsable(identity);
	const {cert, key} = identity;
	if (!('setSecureContext' in server)) throw new LongarmError('TLS_INVALID', {message: 'the listener has no TLS'});
	(server as unknown as SecureServer).setSecureContext({cert, key, ...TLS_RULES});
}

/**
 * The runtime's own bound is on silence; a peer that sends a byte now and then would never meet it. The two events show
 * the same peer as two sockets, so its address tells which is which.
 */
function boundHandshakes(server: SecureServer, timeoutMs: number): () => void {
	const pending = new Map<string, Pending>();
	const over = (name: string): void => {
		clearTimeout(pending.get(name)?.timer);
		pending.delete(name);
	};
	server.on('connection', (socket: Socket) => {
		const name = formatPeer(socket);
		const timer = setTimeout(() => socket.destroy(), timeoutMs);
		timer.unref();
		pending.set(name, {socket, timer});
		socket.once('close', () => {
			if (pending.get(name)?.socket === socket) over(name);
		});
	});
	server.on('secureConnection', (socket: TLSSocket) => over(formatPeer(socket)));
	return () => {
		for (const {socket} of pending.values()) socket.destroy();
	};
}

interface Pending {
	readonly socket: Socket;
	readonly timer: NodeJS.Timeout;
}

function formatPeer({remoteAddress, remotePort}: Socket): string {
	return `${remoteAddress} ${remotePort}`;
}

function requireUsable({cert, key}: TlsIdentity): void {
	try {
		// The runtime takes an empty text for none at all, and would serve without.
		if (cert.length === 0 || key.length === 0) throw new Error('one of them is empty');
		createSecureContext({cert, key, ...TLS_RULES});
	} catch (cause) {
		throw new LongarmError('TLS_INVALID', {
			message: `the certificate and its key cannot be used: ${(cause as Error).message}`,
		});
	}
}
