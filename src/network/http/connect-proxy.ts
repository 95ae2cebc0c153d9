import {request as requestPlain} from 'node:http';
import {request as requestSecure} from 'node:https';
import type {Socket} from 'node:net';
import {type Asker, dnsResolver} from '../dns-resolver.js';
import {hostOf, portOf} from './proxies.js';

/** Opens a tunnel (CONNECT) through a proxy to the origin of a URL. */
export function openTunnel(
	proxy: URL,
	authorization: string | undefined,
	url: URL,
	asker: Asker & {readonly signal: AbortSignal},
): Promise<Socket> {
	const target = `${url.hostname}:${portOf(url)}`;
	const request = proxy.protocol === 'https:' ? requestSecure : requestPlain;
	return new Promise((resolve, reject) => {
		const asking = request({
			method: 'CONNECT',
			host: hostOf(proxy),
			port: portOf(proxy),
			path: target,
			headers: {host: target, ...(authorization && {'proxy-authorization': authorization})},
			agent: false,
			lookup: (host, options, found) => dnsResolver.lookup(host, options, found, asker),
			signal: asker.signal,
		});
		asking.once('connect', ({statusCode}, socket, behindHead) => {
			if (statusCode === 200 && behindHead.length === 0) return resolve(socket);
			socket.destroy();
			const problem =
				statusCode === 200
					? 'sent bytes before the tunnel was used'
					: `refused the connection with status ${statusCode}`;
			reject(new Error(`the proxy ${problem}`));
		});
		asking.once('error', error => reject(new Error(`the proxy cannot be reached: ${error.message}`)));
		asking.end();
	});
}
