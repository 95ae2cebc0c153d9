import {isIP} from 'node:net';
import {LongarmError} from '../../../shared/errors.js';

export type ListenAddress =
	| {readonly kind: 'stdio'}
	| {readonly kind: 'websocket'; readonly tls: boolean; readonly host: string; readonly port: number};

/** Loopback, any free port. */
const DEFAULT_ADDRESS: ListenAddress = {kind: 'websocket', tls: false, host: '127.0.0.1', port: 0};

/** `ws://IP:PORT`, `wss://IP:PORT`, `stdio`, `stdio://` or `auto`. A host name is refused: what it resolves to may change. */
export function parseListenAddress(text: string, protocol: 'all' | 'v0' = 'all'): ListenAddress {
	if (text === 'auto') return protocol === 'v0' ? {kind: 'stdio'} : DEFAULT_ADDRESS;
	if (text === 'stdio' || text === 'stdio://') return {kind: 'stdio'};
	const scheme = /^wss?(?=:\/\/)/.exec(text)?.[0];
	if (!scheme) throw invalid(`unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``);
	const match = /^wss?:\/\/(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})\/?$/.exec(text);
	const host = match?.[1] ?? match?.[2] ?? '';
	const port = Number(match?.[3]);
	if (!match || isIP(host) === 0 || port > 65_535) {
		throw invalid(`invalid websocket --listen URL \`${text}\`; expected \`${scheme}://IP:PORT\``);
	}
	return {kind: 'websocket', tls: scheme === 'wss', host, port};
}

function invalid(message: string): LongarmError {
	return new LongarmError('SETTING_INVALID', {message});
}
