import {isIP} from 'node:net';
import {LongarmError} from '../../shared/errors.js';
import type {ConnectOptions} from './connect-web-socket.js';
import {isLoopback} from './loopback.js';
import type {TransportScheme} from './transport-scheme.js';

const MAX_PORT = 65_535;
/** The port ends at a colon, at a slash or with the text: whatever else is behind the host is a path. */
const HOST_AND_PATH = /^(wss?:\/\/(?:\[[^\]]*\]|[^:/[\]]+)(?::\d+(?=[:/]|$))?(?:\/[^:]*)?)(?::(.*))?$/s;

export interface WebSocketTarget {
	readonly kind: 'websocket';
	readonly url: string;
	/** Sent as a bearer token, shown nowhere. */
	readonly token?: string | undefined;
	readonly tls?: ConnectOptions['tls'];
	readonly connectTimeoutMs?: number | undefined;
	readonly pingIntervalMs?: number | undefined;
	readonly peerTimeoutMs?: number | undefined;
}

export interface WebSocketListenAddress {
	readonly kind: 'websocket';
	readonly tls: boolean;
	readonly host: string;
	readonly port: number;
}

/** `ws://` and `wss://`. */
export const WEB_SOCKET: TransportScheme<WebSocketTarget, WebSocketListenAddress> = {
	kind: 'websocket',
	prefixes: ['ws://', 'wss://'],
	startsServer: false,
	parseTarget: (url, {token, connectTimeoutMs, pingIntervalMs, peerTimeoutMs}) => ({
		kind: 'websocket',
		url,
		token,
		connectTimeoutMs,
		pingIntervalMs,
		peerTimeoutMs,
	}),

	splitPath(address) {
		const [, url, path] = HOST_AND_PATH.exec(address) ?? [];
		return url === undefined || path === undefined ? undefined : {url, path};
	},

	describe({url: given, token}) {
		const url = withoutSecrets(given);
		const hasToken = Boolean(token);
		return {members: {kind: 'websocket', url, hasToken}, text: hasToken ? `${url} (with a token)` : url};
	},

	async connect({url, token, tls, connectTimeoutMs: timeoutMs, pingIntervalMs, peerTimeoutMs}, signal) {
		const {connectWebSocket} = await import('./connect-web-socket.js');
		return connectWebSocket(url, {token, tls, timeoutMs, pingIntervalMs, peerTimeoutMs, signal});
	},

	listenKind: 'websocket',
	listenForm: 'ws://IP:PORT',

	/** A host name is refused: what it resolves to may change. */
	parseListenAddress(text) {
		const scheme = /^wss?(?=:\/\/)/.exec(text)?.[0];
		if (!scheme) return undefined;
		const match = /^wss?:\/\/(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})\/?$/.exec(text);
		const host = match?.[1] ?? match?.[2] ?? '';
		const port = Number(match?.[3]);
		if (!match || isIP(host) === 0 || port > MAX_PORT) {
			const message = `invalid websocket --listen URL \`${text}\`; expected \`${scheme}://IP:PORT\``;
			throw new LongarmError('SETTING_INVALID', {message});
		}
		return {kind: 'websocket', tls: scheme === 'wss', host, port};
	},

	usesTls: ({tls}) => tls,
	isReadableByOthers: ({tls, host}) => !tls && !isLoopback(host),
	// On loopback the listener checks which user connects, where the system tells it.
	isOpenToOtherUsers: ({host}) => process.platform !== 'linux' || !isLoopback(host),

	async listen({host, port}, options) {
		const {listen} = await import('./listener.js');
		return listen({...options, host, port});
	},
};

/** An address for people: passwords and query parameters may be secrets. */
export function withoutSecrets(address: string): string {
	const url = new URL(address);
	if (url.username === '' && url.password === '' && url.search === '') return address;
	url.username = '';
	url.password = '';
	url.search = '';
	return url.href;
}
