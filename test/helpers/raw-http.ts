import {connect} from 'node:net';
import {onTestFinished} from 'vitest';

export const UPGRADE = {
	Connection: 'Upgrade',
	Upgrade: 'websocket',
	'Sec-WebSocket-Version': '13',
	'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

/** Sends an HTTP request as written and returns the raw reply up to the close. */
export async function rawRequest(url: string, line: string, headers: Record<string, string> = {}): Promise<string> {
	const {hostname, port} = new URL(url);
	const socket = connect({host: hostname, port: Number(port)});
	onTestFinished(() => void socket.destroy());
	const lines = Object.entries({Host: hostname, ...headers}).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
	let text = '';
	for await (const data of socket) text += String(data);
	return text;
}

/** Sends an HTTP request and returns status and body. */
export async function request(
	url: string,
	line: string,
	headers: Record<string, string> = {},
): Promise<readonly [number, string]> {
	const text = await rawRequest(url, line, {Connection: 'close', ...headers});
	const [head = '', body = ''] = text.split('\r\n\r\n');
	return [Number(/^HTTP\/1\.1 (\d+) \S/.exec(head)?.[1]), body];
}

/** Sends an upgrade request that is refused, and returns status and text. */
export function requestUpgrade(url: string, authorization?: string): Promise<readonly [number, string]> {
	return request(url, 'GET /', {...UPGRADE, ...(authorization !== undefined && {Authorization: authorization})});
}
