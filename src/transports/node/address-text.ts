import type {AddressInfo, Socket} from 'node:net';

/** `ws://IP:PORT` or `wss://IP:PORT`. */
export function formatWebSocketUrl({address, family, port}: AddressInfo, isEncrypted: boolean): string {
	return `${isEncrypted ? 'wss' : 'ws'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** `IP:PORT` of the far end. */
export function formatPeerAddress({remoteAddress, remotePort, remoteFamily}: Socket): string {
	return `${remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`;
}
