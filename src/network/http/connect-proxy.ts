import {request as requestPlain} from 'node:http';
import {Agent, type AgentOptions, type RequestOptions, request as requestSecure} from 'node:https';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {dnsResolver} from '../dns-resolver.js';
import {hostOf, portOf} from './proxies.js';

type Connected = (error: Error | null, socket: Duplex) => void;

/** What a request says about the connection it needs. */
interface Wanted {
	readonly host: string;
	readonly port: number | string;
	/** Aborted when the request is given up. */
	readonly givenUp?: AbortSignal;
}

/** Keeps encrypted connections to origins behind a proxy, each through a tunnel of its own. */
export function tunnelAgent(proxy: URL, authorization: string | undefined, options: AgentOptions): Agent {
	const agent = new Agent(options);
	const encrypt = agent.createConnection.bind(agent);
	// Node asks for a connection here; the answer comes later.
	agent.createConnection = (wanted: RequestOptions, connected: Connected): undefined => {
		openTunnel(proxy, authorization, wanted as Wanted).then(
			socket => connected(null, encrypt({...wanted, socket} as RequestOptions)!),
			// Node's types want a stream even with an error; its code does not.
			(error: Error) => (connected as (error: Error) => void)(error),
		);
	};
	return agent;
}

function openTunnel(proxy: URL, authorization: string | undefined, {host, port, givenUp}: Wanted): Promise<Socket> {
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
			signal: givenUp,
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
