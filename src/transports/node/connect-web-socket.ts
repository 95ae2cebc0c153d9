import type {EventEmitter} from 'node:events';
import type {IncomingMessage} from 'node:http';
import {connect, isIP, type Socket} from 'node:net';
import {type ClientOptions, WebSocket} from 'ws';
import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {abortable, withTimeout} from '../../shared/async/timeout.js';
import {type OptionTable, readOptions, type WithDurations} from '../../shared/call-options.js';
import {StandardWebSocketTransport} from '../standard-web-socket.js';
import type {Transport} from '../transport.js';
import {answerPings} from './answer-pings.js';
import {PeerMonitor} from './peer-monitor.js';
import {CLIENT_PEER_TIMES, findTimesFault} from './peer-times.js';
import {connectPinned, hintOfTlsError, requireSecureUrl, type TlsOptions, toRuntimeOptions} from './tls-trust.js';
import {WebSocketTransport} from './web-socket.js';
import {withoutSecrets} from './web-socket-scheme.js';

/** How long connecting may take, with TLS and the upgrade. */
export const CONNECT_TIMEOUT_MS = 10_000;
const HINT = 'Check the address, and that a server listens there: longarm serve.';
/** Advice by HTTP status. */
const STATUS_HINTS: Readonly<Record<number, string>> = {
	401: 'It wants a token: LONGARM_EXEC_SERVER_TOKEN, or longarm env add with --token-file.',
	403: 'The server is there, but not for this client: see docs/security.md for whom it lets in.',
	421: 'Call the server by its address, or let it know the name: longarm serve --allow-host.',
	503: 'The server is there, but has no room for a further connection: end some, or try again later.',
};
const WRONG_TOKEN_HINT =
	'Check LONGARM_EXEC_SERVER_TOKEN, or auth_bearer_token of the environment in environments.toml; it may have expired.';
/** Part of the answer to a refused client that is read, in bytes, and told, in characters. */
const MAX_REFUSAL_BYTES = 1024;
const MAX_REFUSAL_CHARS = 200;
/** Header in which a relay says why. */
const REJECTION_REASON_HEADER = 'x-codex-rendezvous-rejection-reason';
/** How long that answer may take once its head is there. */
const REFUSAL_TIMEOUT_MS = 1000;
/** Time for the server to answer the closing handshake; one that is silent never does. */
const MAX_CLOSE_MS = 3000;

/** Host and path of the upgrade request on a socket in the file system, where there is no name to give. */
const UNIX_URL = 'ws://localhost/';
const UNMASKED: Masking = {generateMask: mask => void mask.fill(0)};

/** Options of `connectWebSocket`. */
export interface ConnectOptions {
	/** Sent as a bearer token. */
	readonly token?: string | undefined;
	/** For `wss:`. The token is sent to a server whose certificate was accepted only. */
	readonly tls?: TlsOptions | undefined;
	readonly timeoutMs?: number | undefined;
	/** A silent server is pinged this often, 10 s by default; 0 sends no pings and never gives the connection up. */
	readonly pingIntervalMs?: number | undefined;
	/** The connection is over when nothing was heard for this long, 25 s by default; 0 never gives it up. */
	readonly peerTimeoutMs?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}

const CONNECT_OPTIONS: OptionTable<ConnectOptions> = {
	token: 'text',
	tls: 'object',
	timeoutMs: 'duration',
	pingIntervalMs: 'duration',
	peerTimeoutMs: 'duration',
	signal: 'signal',
};

/** Connects to a server; the error says to which and why not, and never shows the token. */
export async function connectWebSocket(url: string, given: WithDurations<ConnectOptions> = {}): Promise<Transport> {
	const options = readOptions<ConnectOptions>(given, CONNECT_OPTIONS, 'connectWebSocket()');
	options.signal?.throwIfAborted();
	const {tls = {}} = options;
	const address = new URL(url);
	const name = withoutSecrets(url);
	const masking = maskingFor(address);
	requireSecureUrl(address, tls);
	if (tls.fingerprint !== undefined) return openPinned(address, masking, name, options);
	return open(url, {...(await toRuntimeOptions(tls)), ...masking}, name, options);
}

/** The certificate is checked before the WebSocket, and so the token, is asked for. */
async function openPinned(
	address: URL,
	masking: ClientOptions,
	name: string,
	options: ConnectOptions,
): Promise<Transport> {
	const {tls = {}, timeoutMs = CONNECT_TIMEOUT_MS, signal} = options;
	const startedAt = performance.now();
	const {socket, checked} = connectPinned(address, tls.fingerprint!, await toRuntimeOptions(tls));
	try {
		await abortable(
			withTimeout(checked, timeoutMs, () => {
				throw lateError(name, timeoutMs);
			}),
			signal,
		);
	} catch (error) {
		socket.destroy();
		throw signal?.aborted || error instanceof UnreachableError ? error : failedError(name, error as Error);
	}
	const createConnection = (() => socket) as NonNullable<ClientOptions['createConnection']>;
	const leftMs = Math.max(1, Math.ceil(timeoutMs - (performance.now() - startedAt)));
	try {
		return await open(address.href, {...masking, createConnection}, name, {...options, timeoutMs: leftMs});
	} catch (error) {
		socket.destroy();
		throw error;
	}
}

/** Connects to a server on a socket in the file system. */
export async function connectUnixSocket(
	path: string,
	options: Omit<ConnectOptions, 'tls' | 'peerTimeoutMs'> = {},
): Promise<Transport> {
	options.signal?.throwIfAborted();
	// A connection of our own: the library would read a colon in the path as the end of it.
	const createConnection = (() => connect({path})) as NonNullable<ClientOptions['createConnection']>;
	return open(UNIX_URL, {...UNMASKED, createConnection}, `unix:${path}`, {
		...options,
		// The kernel tells of the end of a peer on the same machine.
		peerTimeoutMs: 0,
	});
}

async function open(
	url: string,
	socketOptions: ClientOptions,
	name: string,
	{token, timeoutMs = CONNECT_TIMEOUT_MS, signal, pingIntervalMs, peerTimeoutMs}: ConnectOptions,
): Promise<Transport> {
	const times = {
		...CLIENT_PEER_TIMES,
		...(pingIntervalMs !== undefined && {pingIntervalMs}),
		...(peerTimeoutMs !== undefined && {peerTimeoutMs}),
	};
	const fault = findTimesFault(times);
	if (fault !== undefined) throw new RangeError(fault);
	const options: ClientOptions & CloseTimeout = {
		...socketOptions,
		perMessageDeflate: false,
		maxPayload: MAX_MESSAGE_BYTES,
		closeTimeout: MAX_CLOSE_MS,
		autoPong: false,
		headers: token === undefined ? {} : {authorization: `Bearer ${token}`},
	};
	const webSocket = new WebSocket(url, options);
	answerPings(webSocket);
	await waitForOpen(webSocket, {name, hasToken: token !== undefined, timeoutMs, signal});
	const {_socket: socket} = webSocket as unknown as {_socket: Socket};
	// Bun has a WebSocket of its own in place of the library's.
	if (typeof socket?.on !== 'function') {
		return new StandardWebSocketTransport(webSocket as unknown as globalThis.WebSocket, name);
	}
	return new WebSocketTransport(webSocket, socket, name, 'client', {monitor: new PeerMonitor(times)});
}

/** Option of a WebSocket that its type declarations lack. */
interface CloseTimeout {
	readonly closeTimeout: number;
}

/** Option of a WebSocket that says how its frames are masked. */
interface Masking {
	readonly generateMask?: (mask: Buffer) => void;
}

/** A WebSocket that is being opened. */
export interface Opening {
	readonly name: string;
	/** Undefined where no token is asked for, because the URL is a ticket. */
	readonly hasToken: boolean | undefined;
	readonly timeoutMs: number;
	readonly signal: AbortSignal | undefined;
}

/** Settles when it is open; the error says where to and why not. */
export function waitForOpen(
	webSocket: EventEmitter & {terminate(): void},
	{name, hasToken, timeoutMs, signal}: Opening,
): Promise<void> {
	return new Promise((resolve, reject) => {
		const fail = (error: Error): void => {
			over();
			// Later errors are consequences of this one.
			webSocket.on('error', () => {});
			webSocket.terminate();
			reject(error);
		};
		const late = (): void => fail(lateError(name, timeoutMs));
		const failed = (cause: Error, answer: UnreachableDetails = {}): void =>
			fail(failedError(name, cause, {...answer, hasToken: hasToken === true}));
		const failedEarly = (cause: Error): void => failed(cause);
		const refused = (_request: unknown, response: IncomingMessage): void => {
			const {statusCode: status, headers} = response;
			const rejection = printableLine(headers[REJECTION_REASON_HEADER]) || undefined;
			void readRefusal(response, hasToken).then(error => failed(error, {status, rejection}));
		};
		const aborted = (): void => fail(signal!.reason instanceof Error ? signal!.reason : new Error('aborted'));
		const timer = setTimeout(late, timeoutMs);
		const over = (): void => {
			clearTimeout(timer);
			webSocket.off('error', failedEarly);
			webSocket.off('unexpected-response', refused);
			signal?.removeEventListener('abort', aborted);
		};
		webSocket.on('error', failedEarly);
		webSocket.on('unexpected-response', refused);
		signal?.addEventListener('abort', aborted, {once: true});
		webSocket.once('open', () => {
			over();
			resolve();
		});
	});
}

/** The answer to a client that is not let in: its status and first line, without anything that acts on a terminal. */
async function readRefusal(response: IncomingMessage, hasToken: boolean | undefined): Promise<Error> {
	const {statusCode = 0, statusMessage = ''} = response;
	const head = `HTTP error: ${statusCode} ${statusMessage}`.trim();
	const said = (await readFirstLine(response)) || printableLine(response.headers[REJECTION_REASON_HEADER]);
	const told = said === '' ? '' : `: ${said.slice(0, MAX_REFUSAL_CHARS)}`;
	if (statusCode !== 401 || hasToken === undefined) return new Error(`${head}${told}`);
	const meaning = hasToken ? 'the server refused the token' : 'the server asks for a token and none was given';
	return new Error(`${head}: ${meaning}${told}`);
}

async function readFirstLine(response: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	const timer = setTimeout(() => response.destroy(), REFUSAL_TIMEOUT_MS);
	try {
		for await (const chunk of response as AsyncIterable<Buffer>) {
			chunks.push(chunk);
			bytes += chunk.length;
			if (bytes >= MAX_REFUSAL_BYTES) break;
		}
	} catch {
		// The part that has arrived has to do.
	} finally {
		clearTimeout(timer);
	}
	return printableLine(Buffer.concat(chunks).toString());
}

function printableLine(text: string | readonly string[] = ''): string {
	const [line = ''] = String(text).trimStart().split('\n', 1);
	return line.replaceAll(/\p{C}/gu, ' ').trim();
}

function lateError(name: string, timeoutMs: number): UnreachableError {
	return new UnreachableError(`timed out connecting to exec-server websocket \`${name}\` after ${timeoutMs / 1000}s`);
}

function failedError(name: string, cause: Error, details: UnreachableDetails = {}): UnreachableError {
	const message = `failed to connect to exec-server websocket \`${name}\`: ${cause.message}`;
	return new UnreachableError(message, {...details, cause});
}

/** Masking protects proxies from scripts of a browser; on loopback and inside TLS there is no proxy that could read. */
export function maskingFor({protocol, hostname}: URL): Masking {
	const host = hostname.replace(/^\[(.*)\]$/, '$1');
	const isProtected = protocol === 'wss:' || host === 'localhost' || (isIP(host) !== 0 && /^(?:127\.|::1$)/.test(host));
	return isProtected ? UNMASKED : {};
}

interface UnreachableDetails extends ErrorOptions {
	readonly status?: number | undefined;
	/** Why a relay has refused the socket, as it gave it. */
	readonly rejection?: string | undefined;
	/** A token was sent. */
	readonly hasToken?: boolean;
}

/** The server cannot be reached. */
export class UnreachableError extends Error {
	override readonly name = 'UnreachableError';
	/** Advice for people. */
	readonly hint: string;
	/** Status of the HTTP answer, if the server has answered and did not let the client in. */
	readonly status: number | undefined;
	/** Why a relay has refused the socket, as it gave it. */
	readonly rejection: string | undefined;

	constructor(message: string, {status, rejection, hasToken = false, ...options}: UnreachableDetails = {}) {
		super(message, options);
		this.status = status;
		this.rejection = rejection;
		const tlsHint = options.cause instanceof Error ? hintOfTlsError(options.cause) : undefined;
		this.hint = tlsHint ?? (status === 401 && hasToken ? WRONG_TOKEN_HINT : (STATUS_HINTS[status ?? 0] ?? HINT));
	}
}
