import {isDeepStrictEqual} from 'node:util';
import {METHODS} from '../../../protocol/methods/method-table.js';
import {decode} from '../../../protocol/wire/decode.js';
import {INTERNAL_ERROR} from '../../../protocol/wire/error-codes.js';
import {errorMessage} from '../../../shared/errors.js';
import {stateHome} from '../../../shared/node/state-home.js';
import {HeldTransport} from '../../../transports/held-transport.js';
import {joinTransports} from '../../../transports/join-transports.js';
import {parseListenAddress} from '../../../transports/node/registry.js';
import type {Transport} from '../../../transports/transport.js';
import {SETTINGS, type SettingName, type Settings} from './serve-settings.js';

const METHOD = 'environment/daemon';
/** Longest request for the daemon. */
const MAX_REQUEST_CHARS = 1000;

interface DaemonRequest {
	readonly id: unknown;
	readonly start: boolean;
}

/** Settings that do not change what a client may do. */
const HARMLESS: ReadonlySet<string> = new Set<SettingName>(['listen', 'log-level', 'log-format']);

/**
 * Whether a server connects its client to the local daemon: one on standard input and output, which exits with its client. Any
 * other setting may be there to restrict the client, and the daemon knows nothing of it.
 */
export function doesOfferDaemon(settings: Settings): boolean {
	if (parseListenAddress(settings.listen)?.kind !== 'stdio' || stateHome(process.env) === undefined) return false;
	const names = Object.keys(SETTINGS) as SettingName[];
	return names.every(name => HARMLESS.has(name) || isDeepStrictEqual(settings[name], SETTINGS[name].fallback));
}

/**
 * Connects a client to the local daemon if that is its first request, and calls `clientLeft` at its end. Returns undefined then,
 * and otherwise a transport for this server. Call before the server adopts orphans: the daemon must not be below it.
 */
export async function handOver(transport: Transport, clientLeft: () => void): Promise<Transport | undefined> {
	const held = new HeldTransport(transport);
	const request = readRequest(await held.first);
	if (!request) return held;
	held.takeFirst();
	const {id, start} = request;
	try {
		const daemon = await connectDaemon(start);
		held.send(JSON.stringify({id, result: {running: daemon !== undefined}}));
		if (!daemon) return held;
		joinTransports(held, daemon, clientLeft);
		return undefined;
	} catch (error) {
		held.send(JSON.stringify({id, error: {code: INTERNAL_ERROR, message: errorMessage(error)}}));
		return held;
	}
}

function readRequest(text: string | undefined): DaemonRequest | undefined {
	if (text === undefined || text.length > MAX_REQUEST_CHARS || !text.includes(METHOD)) return undefined;
	try {
		const {id, method, params} = JSON.parse(text) as {id?: unknown; method?: unknown; params?: unknown};
		if (method !== METHOD || id === undefined) return undefined;
		return {id, start: decode(METHODS[METHOD].params, params ?? {}).start};
	} catch {
		return undefined;
	}
}

/** Undefined for a daemon that does not run and is not to be started. */
async function connectDaemon(start: boolean): Promise<Transport | undefined> {
	const [{LocalDaemon}, {connectUnixSocket}] = await Promise.all([
		import('../../../environments/local/local-daemon.js'),
		import('../../../transports/node/connect-web-socket.js'),
	]);
	const daemon = new LocalDaemon({variables: process.env});
	try {
		// While this connection is there, the daemon does not exit.
		if (!(start ? await daemon.open() : await daemon.find())) return undefined;
		return await connectUnixSocket(daemon.place.socket, {});
	} finally {
		await daemon.close();
	}
}
