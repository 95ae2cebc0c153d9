import {isIP} from 'node:net';
import {LongarmError} from '../shared/errors.js';

export type ListenAddress =
	| {readonly kind: 'stdio'}
	| {readonly kind: 'websocket'; readonly host: string; readonly port: number};

/** `ws://IP:PORT`, `stdio` or `stdio://`. A host name is refused: what it resolves to may change. */
export function parseListenAddress(text: string): ListenAddress {
	if (text === 'stdio' || text === 'stdio://') return {kind: 'stdio'};
	if (!text.startsWith('ws://'))
		throw invalid(`unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``);
	const match = /^ws:\/\/(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})\/?$/.exec(text);
	const host = match?.[1] ?? match?.[2] ?? '';
	const port = Number(match?.[3]);
	if (!match || isIP(host) === 0 || port > 65_535) {
		throw invalid(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``);
	}
	return {kind: 'websocket', host, port};
}

function invalid(message: string): LongarmError {
	return new LongarmError('SETTING_INVALID', {message});
}
