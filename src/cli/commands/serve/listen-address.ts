import {LISTEN_FORMS, type ListenAddress, parseListenAddress as parse} from '../../../transports/node/registry.js';
import {invalidSetting} from './serve-settings.js';

/** Loopback, any free port. */
const DEFAULT_ADDRESS: ListenAddress = {kind: 'websocket', tls: false, host: '127.0.0.1', port: 0};

/** `ws://IP:PORT`, `wss://IP:PORT`, `stdio`, `stdio://` or `auto`. */
export function parseListenAddress(text: string, protocol: 'all' | 'v0' = 'all'): ListenAddress {
	if (text === 'auto') return protocol === 'v0' ? {kind: 'stdio'} : DEFAULT_ADDRESS;
	const address = parse(text);
	if (address) return address;
	const forms = LISTEN_FORMS.map(form => `\`${form}\``).join(' or ');
	throw invalidSetting(`unsupported --listen URL \`${text}\`; expected ${forms}`);
}
