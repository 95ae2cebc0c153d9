import {connect, type LookupFunction, type Socket} from 'node:net';
import {type ConnectionOptions, connect as connectSecurely} from 'node:tls';
import type {AskedLookup} from '../dns-resolver.js';
import type {ReceivedHead} from './response-head.js';
import {ResponseParser} from './response-parser.js';

/** Bytes read at once; the memory is shared by all connections that are not encrypted. */
const READ_BUFFER_BYTES = 256 * 1024;
/** Time without a byte after which the kernel probes whether the origin is still there. */
const PROBE_AFTER_MS = 1000;

let readBuffer: Buffer | undefined;

export interface Encryption {
	/** Empty for an IP address. */
	readonly servername: string;
	/** State of the last connection, which shortens the next handshake. */
	session: Buffer | undefined;
}

/** Where a connection leads, and how it is made. */
export interface ConnectionTarget {
	readonly host: string;
	readonly port: number;
	/** Undefined if the connection is not encrypted. */
	readonly encryption: Encryption | undefined;
	readonly lookup: AskedLookup;
	/** Judges the address that was really connected to: throws before anything is sent. */
	readonly requireAllowed: ((socket: Socket) => void) | undefined;
	/** Opens the way to the target through a proxy. */
	readonly openTunnel: ((abortSignal: AbortSignal) => Promise<Socket>) | undefined;
}

/** Request that is ready to be sent. */
export interface OutgoingMessage {
	readonly method: string;
	/** Request line and headers, one character per byte. */
	readonly head: string;
	readonly body: Uint8Array | undefined;
	/** The connection is not used again. */
	readonly closesConnection: boolean;
}

/** Consumer of one response. */
export interface ResponseReceiver {
	onHead(head: ReceivedHead): void;
	/** The bytes are only borrowed, until this returns. False for back-pressure: nothing is read until `resume`. */
	onBody(bytes: Buffer): boolean;
	onEnd(): void;
	/** Called at most once, and not after the end. */
	onFailure(error: Error): void;
}

export interface ConnectionOwner {
	/** The response is complete and the connection may be used again; the origin closes it after the time, if it says so. */
	onIdle(connection: OriginConnection, idleTimeoutMs: number | undefined): void;
	onClosed(connection: OriginConnection): void;
}

/** Request whose response is not complete. */
interface PendingExchange {
	readonly message: OutgoingMessage;
	readonly receiver: ResponseReceiver;
	readonly parser: ResponseParser;
	head: ReceivedHead | undefined;
}

type State =
	| {readonly kind: 'connecting'; readonly exchange: PendingExchange}
	| {readonly kind: 'busy'; readonly exchange: PendingExchange}
	| {readonly kind: 'idle'}
	| {readonly kind: 'closed'};

const IDLE: State = {kind: 'idle'};
const CLOSED: State = {kind: 'closed'};

/** One connection to an origin or a proxy: HTTP/1.1, one request at a time. */
export class OriginConnection {
	readonly #owner: ConnectionOwner;
	#socket: Socket | undefined;
	#state: State;
	/** Aborted with the connection: ends its lookup, and the request for a tunnel. */
	readonly #closing = new AbortController();
	#isPaused = false;
	#exchangeCount = 1;
	/** Of the present response. */
	#hasReceived = false;

	/** Connects, and sends the first request then. */
	constructor(target: ConnectionTarget, owner: ConnectionOwner, message: OutgoingMessage, receiver: ResponseReceiver) {
		this.#owner = owner;
		this.#state = {kind: 'connecting', exchange: this.#toExchange(message, receiver)};
		const {encryption, openTunnel} = target;
		if (!encryption) this.#connectPlainly(target);
		else if (openTunnel) this.#connectThroughTunnel(target, encryption, openTunnel);
		else this.#encrypt({host: target.host, port: target.port, lookup: this.#toLookup(target)}, encryption, target);
	}

	/**
	 * An earlier request was answered, and not a byte of the response to the present one has come: the origin may have
	 * closed the connection before it saw the request.
	 */
	get isPossiblyStale(): boolean {
		return this.#exchangeCount > 1 && !this.#hasReceived;
	}

	/** Sends a request on an idle connection. */
	send(message: OutgoingMessage, receiver: ResponseReceiver): void {
		this.#exchangeCount++;
		this.#hasReceived = false;
		this.#socket!.ref();
		this.#transmit(this.#toExchange(message, receiver));
	}

	/** Goes on reading after back-pressure. */
	resume(): void {
		if (!this.#isPaused) return;
		this.#isPaused = false;
		this.#socket!.resume();
	}

	/** Closes the connection; the receiver gets the error, unless its response is complete. */
	destroy(error: Error = closedEarlyError()): void {
		const state = this.#state;
		if (state.kind === 'closed') return;
		this.#state = CLOSED;
		this.#closing.abort();
		this.#socket?.destroy();
		this.#owner.onClosed(this);
		if (state.kind !== 'idle') state.exchange.receiver.onFailure(error);
	}

	#toExchange(message: OutgoingMessage, receiver: ResponseReceiver): PendingExchange {
		const exchange: PendingExchange = {
			message,
			receiver,
			parser: new ResponseParser(message.method, {
				onHead: head => {
					exchange.head = head;
					receiver.onHead(head);
				},
				onBody: bytes => {
					if (!receiver.onBody(bytes)) this.#isPaused = true;
				},
			}),
			head: undefined,
		};
		return exchange;
	}

	#toLookup({lookup}: ConnectionTarget): LookupFunction {
		const {signal} = this.#closing;
		return (host, options, found) => lookup(host, options, found, {signal});
	}

	#connectPlainly(target: ConnectionTarget): void {
		const {host, port, requireAllowed} = target;
		readBuffer ??= Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
		const socket = connect({
			host,
			port,
			lookup: this.#toLookup(target),
			noDelay: true,
			keepAlive: true,
			keepAliveInitialDelay: PROBE_AFTER_MS,
			onread: {
				buffer: readBuffer,
				callback: (length, memory) => this.#receive((memory as Buffer).subarray(0, length)),
			},
		});
		this.#adopt(socket, 'connect', requireAllowed);
	}

	#connectThroughTunnel(
		{host}: ConnectionTarget,
		encryption: Encryption,
		openTunnel: NonNullable<ConnectionTarget['openTunnel']>,
	): void {
		const start = (socket: Socket): void => {
			if (this.#state === CLOSED) socket.destroy();
			else this.#encrypt({socket, host}, encryption);
		};
		openTunnel(this.#closing.signal).then(start, (error: Error) => this.destroy(error));
	}

	#encrypt(options: ConnectionOptions, encryption: Encryption, target?: ConnectionTarget): void {
		const {servername, session} = encryption;
		const socket = connectSecurely({...options, servername, ...(session && {session}), ALPNProtocols: ['http/1.1']});
		socket.setNoDelay(true);
		socket.setKeepAlive(true, PROBE_AFTER_MS);
		socket.on('session', latest => {
			encryption.session = latest;
		});
		socket.on('error', () => {
			encryption.session = undefined;
		});
		socket.on('data', (bytes: Buffer) => {
			if (!this.#receive(bytes)) socket.pause();
		});
		this.#adopt(socket, 'secureConnect', target?.requireAllowed);
	}

	#adopt(
		socket: Socket,
		connected: 'connect' | 'secureConnect',
		requireAllowed: ConnectionTarget['requireAllowed'],
	): void {
		this.#socket = socket;
		if (requireAllowed) {
			// Before the listener that begins the handshake of TLS.
			socket.prependOnceListener('connect', () => {
				try {
					requireAllowed(socket);
				} catch (error) {
					this.destroy(error as Error);
				}
			});
		}
		socket.once(connected, () => {
			if (this.#state.kind === 'connecting') this.#transmit(this.#state.exchange);
		});
		socket.on('error', error => this.destroy(error));
		socket.on('end', () => this.#handleEnd());
		socket.on('close', () => this.destroy());
	}

	#transmit(exchange: PendingExchange): void {
		const {head, body} = exchange.message;
		const socket = this.#socket!;
		this.#state = {kind: 'busy', exchange};
		if (!body || body.length === 0) {
			socket.write(head, 'latin1');
			return;
		}
		// Together in one packet, if they fit.
		socket.cork();
		socket.write(head, 'latin1');
		socket.write(body);
		socket.uncork();
	}

	/** Returns false if reading has to stop. */
	#receive(bytes: Buffer): boolean {
		const state = this.#state;
		// Nothing was asked for.
		if (state.kind !== 'busy') {
			this.destroy();
			return false;
		}
		this.#hasReceived = true;
		try {
			const isAllUsed = state.exchange.parser.push(bytes);
			if (this.#state === state && state.exchange.parser.isDone) this.#complete(state.exchange, isAllUsed);
		} catch (error) {
			this.destroy(error as Error);
		}
		return !this.#isPaused;
	}

	#handleEnd(): void {
		const state = this.#state;
		if (state.kind === 'busy' && state.exchange.parser.finish()) this.#complete(state.exchange, false);
		else this.destroy();
	}

	#complete({message, receiver, head}: PendingExchange, isReusable: boolean): void {
		const socket = this.#socket!;
		// A request that is not sent completely is of no more use to the origin.
		const isSent = socket.writableLength === 0;
		this.#state = IDLE;
		this.resume();
		if (isReusable && isSent && head!.isPersistent && !message.closesConnection) {
			socket.unref();
			this.#owner.onIdle(this, head!.idleTimeoutMs);
		} else {
			this.destroy();
		}
		receiver.onEnd();
	}
}

/** The text is replaced by `describeNetworkError`. */
function closedEarlyError(): Error {
	return Object.assign(new Error('socket hang up'), {code: 'ECONNRESET'});
}
