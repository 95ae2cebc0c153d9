import {isAbsolute} from 'node:path';
import {LongarmError} from '../../shared/errors.js';
import type {TransportScheme} from './transport-scheme.js';

const PREFIX = 'unix:';
/** Longest path the kernel takes for a socket, without its final NUL byte. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

export interface UnixTarget {
	readonly kind: 'unix';
	/** Absolute path of the socket. */
	readonly path: string;
	/** Sent as a bearer token, shown nowhere. */
	readonly token?: string | undefined;
	readonly connectTimeoutMs?: number | undefined;
}

export interface UnixListenAddress {
	readonly kind: 'unix';
	readonly path: string;
}

/** `unix:PATH`: a WebSocket over a socket in the file system, which only its user can open. */
export const UNIX: TransportScheme<UnixTarget, UnixListenAddress> = {
	kind: 'unix',
	prefixes: [PREFIX],
	startsServer: false,

	parseTarget(address, {token, connectTimeoutMs}) {
		const path = parsePath(address);
		const fault = findPathFault(path);
		if (fault === undefined) return {kind: 'unix', path, token, connectTimeoutMs};
		throw new LongarmError('ENVIRONMENT_INVALID', {message: `environment url \`${address}\` is invalid: ${fault}`});
	},

	/** The path of the socket ends at the first colon: `unix:/run/x.sock:/srv` is `/srv` behind `/run/x.sock`. */
	splitPath(address) {
		const colon = address.indexOf(':', PREFIX.length);
		return colon < 0 ? undefined : {url: address.slice(0, colon), path: address.slice(colon + 1)};
	},

	describe({path, token}) {
		const hasToken = Boolean(token);
		const url = `${PREFIX}${path}`;
		return {members: {kind: 'unix', url, hasToken}, text: hasToken ? `${url} (with a token)` : url};
	},

	async connect({path, token, connectTimeoutMs: timeoutMs}, signal) {
		const {connectUnixSocket} = await import('./connect-web-socket.js');
		return connectUnixSocket(path, {token, timeoutMs, signal});
	},

	listenKind: 'unix',

	parseListenAddress(text) {
		if (!text.startsWith(PREFIX)) return undefined;
		const path = parsePath(text);
		const fault = findPathFault(path);
		if (fault === undefined) return {kind: 'unix', path};
		throw new LongarmError('SETTING_INVALID', {message: `invalid --listen address \`${text}\`: ${fault}`});
	},

	usesTls: () => false,
	isReadableByOthers: () => false,
	isOpenToOtherUsers: () => false,

	async listen({path}, options) {
		const {listenOnUnixSocket} = await import('./unix-listener.js');
		return listenOnUnixSocket({...options, path});
	},
};

/** `unix:///run/x.sock`, as other programs write it, is the same as `unix:/run/x.sock`. */
function parsePath(address: string): string {
	return address.slice(PREFIX.length).replace(/^\/\/(?=\/)/, '');
}

function findPathFault(path: string): string | undefined {
	if (!isAbsolute(path)) return 'the path of the socket has to be absolute, such as unix:/run/user/1000/longarm.sock';
	if (path.includes('\0') || path.endsWith('/')) return 'this is no path of a socket';
	if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
		return `the path of a socket has at most ${MAX_SOCKET_PATH_BYTES} bytes`;
	return undefined;
}
