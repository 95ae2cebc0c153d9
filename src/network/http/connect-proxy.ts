import {request as requestPlain} from 'node:http';
import {Agent, type AgentOptions, type RequestOptions, request as requestSecure} from 'node:https';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {dnsResolver} from '../dns-resolver.js';
import {hostOf, portOf} from './proxies.js';

type ConnectCallback = (error: Error | null, socket: Duplex) => void;

/** Options of the request that needs a tunnel. */
interface TunnelTarget {
	readonly host: string;
	readonly port: number | string;
	/** Aborted with the request. */
	readonly abortSignal?: AbortSignal;
}

/** Agent for HTTPS origins behind a proxy: each connection is a CONNECT tunnel of its own. */
export function createTunnelAgent(proxy: URL, authorization: string | undefined, options: AgentOptions): Agent {
	const agent = new Agent(options);
	const encrypt = agent.createConnection.bind(agent);
	// Returning undefined tells Node that the callback delivers the connection.
	agent.createConnection = (target: RequestOptions, onConnect: ConnectCallback): undefined => {
		openTunnel(proxy, authorization, target as TunnelTarget).then(
			socket => onConnect(null, encrypt({...target, socket} as RequestOptions)!),
			// Node's types want a stream even with an error; its code does not.
			(error: Error) => (onConnect as (error: Error) => void)(error),
		);
	};
	return agent;
}

function openTunnel(
	proxy: URL,
	authorization: string | undefined,
	{host, port, abortSignal}: TunnelTarget,
): Promise<Socket> {
	const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
	const request = proxy.protocol === 'https:' ? requestSecure : requestPlain;
	return new Promise((resolve, reject) => {
		const asking = request({
			method: 'CONNECT',
			host: hostOf(proxy),
			port: portOf(proxy),
			path: target,
			headers: {host: target, ...(authorization && {'proxy-authorization': authorization})},
			agent: false,
			lookup: dnsResolver.lookup,
			signal: abortSignal,
		});
		asking.once('connect', ({statusCode}, socket) => {
			if (statusCode === 200) return resolve(socket);
			socket.destroy();
			reject(new Error(`the proxy refused the connection with status ${statusCode}`));
		});
		asking.once('error', error => reject(new Error(`the proxy cannot be reached: ${error.message}`)));
		asking.end();
	});
}
