import {Agent as PlainAgent, type RequestOptions, request as requestPlain} from 'node:http';
import {request as requestSecure, Agent as SecureAgent} from 'node:https';
import {isIP} from 'node:net';
import {dnsResolver} from '../dns-resolver.js';
import {createTunnelAgent} from './connect-proxy.js';
import type {HttpPolicy} from './http-policy.js';
import type {Header, HttpVariables} from './http-request.js';
import {takeCredentials} from './prepare-request.js';
import {findProxy, hostOf, portOf} from './proxies.js';

/** Time after which an idle connection is closed. */
const IDLE_TIMEOUT_MS = 30_000;
/** Idle keep-alive connections per origin. */
const MAX_IDLE_PER_ORIGIN = 16;
/** Idle keep-alive connections of one agent, over all origins. */
const MAX_IDLE_TOTAL = 64;
const AGENT_OPTIONS = {
	keepAlive: true,
	timeout: IDLE_TIMEOUT_MS,
	maxFreeSockets: MAX_IDLE_PER_ORIGIN,
};
/** For connections that no policy judges, such as those to a proxy, which the executor's user has chosen. */
const UNJUDGED_OPTIONS = {...AGENT_OPTIONS, lookup: dnsResolver.lookup};

type HttpAgent = PlainAgent | SecureAgent;

/** Request function and options for one origin, direct or through a proxy. */
export interface AgentRoute {
	readonly request: typeof requestPlain;
	readonly options: RequestOptions & {servername?: string};
	/** Headers for a proxy that reads the request; none for a tunnel or a direct connection. */
	readonly proxyHeaders: readonly Header[];
}

/** Keep-alive connections of one client, never shared with another. */
export class Agents {
	readonly #variables: HttpVariables;
	readonly #policy: HttpPolicy | undefined;
	readonly #agents = new Map<string, HttpAgent>();

	/** Without a policy every host may be reached. */
	constructor(variables: HttpVariables, policy?: HttpPolicy) {
		this.#variables = variables;
		this.#policy = policy;
	}

	/** Throws if the policy does not allow the URL. */
	routeTo(url: URL): AgentRoute {
		this.#policy?.requireTarget(url);
		const proxy = findProxy(url, this.#variables);
		if (!proxy) return {...this.#connect(url, url, 'direct'), proxyHeaders: []};
		const authorization = takeCredentials(proxy);
		if (url.protocol === 'https:') {
			const agent = this.#agent(`tunnel ${proxy.href}`, () =>
				createTunnelAgent(proxy, authorization, UNJUDGED_OPTIONS),
			);
			return {
				request: requestSecure,
				options: {...toConnectOptions(url), path: toRequestPath(url), agent},
				proxyHeaders: [],
			};
		}
		const route = this.#connect(proxy, url, 'proxy');
		const proxyHeaders: Header[] = authorization ? [['proxy-authorization', authorization]] : [];
		return {...route, options: {...route.options, path: url.href}, proxyHeaders};
	}

	/** Closes every connection, idle or not. */
	close(): void {
		for (const agent of this.#agents.values()) agent.destroy();
		this.#agents.clear();
	}

	#connect(to: URL, url: URL, kind: 'direct' | 'proxy'): Omit<AgentRoute, 'proxyHeaders'> {
		const secure = to.protocol === 'https:';
		const policy = kind === 'direct' ? this.#policy : undefined;
		const agent = this.#agent(`${kind} ${to.protocol}`, () => {
			const agentOptions = policy ? {...AGENT_OPTIONS, lookup: policy.lookup} : UNJUDGED_OPTIONS;
			const created = secure ? new SecureAgent(agentOptions) : new PlainAgent(agentOptions);
			return policy ? policy.guard(created) : created;
		});
		const options = {...toConnectOptions(to), path: toRequestPath(url), agent};
		return {request: secure ? requestSecure : requestPlain, options};
	}

	#agent(kind: string, create: () => HttpAgent): HttpAgent {
		let agent = this.#agents.get(kind);
		if (!agent) {
			agent = limitIdleSockets(create());
			this.#agents.set(kind, agent);
		}
		return agent;
	}
}

/** Node limits idle sockets per origin only, and a client may use any number of origins. */
function limitIdleSockets(agent: HttpAgent): HttpAgent {
	const keep = agent.keepSocketAlive.bind(agent);
	const countIdle = (): number =>
		Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
	agent.keepSocketAlive = socket => countIdle() < MAX_IDLE_TOTAL && keep(socket);
	return agent;
}

/** The server name for TLS is that of the URL, whatever the Host header says; IP addresses have none. */
function toConnectOptions(url: URL): {host: string; port: string; servername: string} {
	const host = hostOf(url);
	return {host, port: portOf(url), servername: isIP(host) ? '' : host};
}

function toRequestPath({pathname, search}: URL): string {
	return pathname + search;
}
