import {Agent as PlainAgent, type RequestOptions, request as requestPlain} from 'node:http';
import {request as requestSecure, Agent as SecureAgent} from 'node:https';
import {isIP} from 'node:net';
import {dnsResolver} from '../dns-resolver.js';
import {tunnelAgent} from './connect-proxy.js';
import type {Header, HttpVariables} from './http-request.js';
import {takeCredentials} from './prepare-request.js';
import {hostOf, portOf, proxyFor} from './proxies.js';

/** How long a connection is kept for the next request. */
const IDLE_MS = 30_000;
/** Idle connections kept per origin. */
const IDLE_PER_ORIGIN = 16;
/** Idle connections kept in all, per kind. */
const IDLE_IN_ALL = 64;
const OPTIONS = {keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_PER_ORIGIN, lookup: dnsResolver.lookup};

type AgentOfNode = PlainAgent | SecureAgent;

/** How a request gets to an origin. */
export interface AgentRoute {
	readonly request: typeof requestPlain;
	readonly options: RequestOptions & {servername?: string};
	/** For the proxy that reads the request, if one does. */
	readonly proxyHeaders: readonly Header[];
}

/** The connections of one client; no other client's request ever uses them. */
export class Agents {
	readonly #variables: HttpVariables;
	readonly #agents = new Map<string, AgentOfNode>();

	constructor(variables: HttpVariables) {
		this.#variables = variables;
	}

	routeTo(url: URL): AgentRoute {
		const proxy = proxyFor(url, this.#variables);
		if (!proxy) return {...this.#connect(url, url), proxyHeaders: []};
		const authorization = takeCredentials(proxy);
		if (url.protocol === 'https:') {
			const agent = this.#agent(`tunnel ${proxy.href}`, () => tunnelAgent(proxy, authorization, OPTIONS));
			return {request: requestSecure, options: {...address(url), path: pathOf(url), agent}, proxyHeaders: []};
		}
		const route = this.#connect(proxy, url);
		const proxyHeaders: Header[] = authorization ? [['proxy-authorization', authorization]] : [];
		return {...route, options: {...route.options, path: url.href}, proxyHeaders};
	}

	/** Ends every connection, idle or not. */
	close(): void {
		for (const agent of this.#agents.values()) agent.destroy();
		this.#agents.clear();
	}

	#connect(to: URL, url: URL): Omit<AgentRoute, 'proxyHeaders'> {
		const secure = to.protocol === 'https:';
		const agent = this.#agent(to.protocol, () => (secure ? new SecureAgent(OPTIONS) : new PlainAgent(OPTIONS)));
		const options = {...address(to), path: pathOf(url), agent};
		return {request: secure ? requestSecure : requestPlain, options};
	}

	#agent(kind: string, create: () => AgentOfNode): AgentOfNode {
		let agent = this.#agents.get(kind);
		if (!agent) {
			agent = keepingFew(create());
			this.#agents.set(kind, agent);
		}
		return agent;
	}
}

/** Node bounds what is kept per origin only, and a client may ask any number of origins. */
function keepingFew(agent: AgentOfNode): AgentOfNode {
	const keep = agent.keepSocketAlive.bind(agent);
	const idle = (): number => Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
	agent.keepSocketAlive = socket => idle() < IDLE_IN_ALL && keep(socket);
	return agent;
}

/** The name on the certificate is the URL's, whatever the Host header says; addresses have none. */
function address(url: URL): {host: string; port: string; servername: string} {
	const host = hostOf(url);
	return {host, port: portOf(url), servername: isIP(host) ? '' : host};
}

function pathOf({pathname, search}: URL): string {
	return pathname + search;
}
