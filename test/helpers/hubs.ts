import {onTestFinished} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {Hub, type HubOptions} from '../../src/hub/hub.js';
import {openNatsBackend} from '../../src/hub/nats/nats-backend.js';
import {ExecServer} from '../../src/server/server.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {silentLogger} from '../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, type NoiseKeys} from '../../src/shared/noise/hybrid-ik.js';
import {connectHarness, harnessKey} from '../../src/transports/node/relay/connect-harness.js';
import {ExecutorLink, type ExecutorLinkOptions} from '../../src/transports/node/relay/executor-link.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import type {Transport} from '../../src/transports/transport.js';
import {runningNats} from './nats-servers.js';
import {scratchDirectory} from './scratch.js';

export interface RunningHub {
	readonly hub: Hub;
	readonly url: string;
	/** Where executors go to, if that is another node. */
	readonly executorUrl?: string;
	readonly data: string;
	readonly executorToken: string;
	readonly clientToken: string;
}

/** Kinds of hubs that have to keep the same promises. */
export type HubKind = 'embedded' | 'nats';

let hubKind: HubKind = 'embedded';
/** NATS server of a directory, so that a hub that is started again finds its state. */
const serversOf = new Map<string, string>();

/** Makes `runningHub` start hubs of another kind, in this file. */
export function useHubKind(kind: HubKind): void {
	hubKind = kind;
}

export function currentHubKind(): HubKind {
	return hubKind;
}

/**
 * A hub on a free loopback port with a token of each kind; closed with the test. One of the kind `nats` has two nodes: executors
 * are connected to `hub`, and clients to the other.
 */
export async function runningHub(options: Partial<HubOptions> = {}): Promise<RunningHub> {
	const data = options.data ?? scratchDirectory();
	if (hubKind === 'nats') return runningPair(data, options);
	const hub = new Hub({host: '127.0.0.1', port: 0, data, ...options});
	const url = await hub.listen();
	onTestFinished(() => hub.close());
	const executorToken = (await hub.tokens.create('executor', '*')).token;
	const clientToken = (await hub.tokens.create('client', '*')).token;
	return {hub, url, data, executorToken, clientToken};
}

/** A node of a hub on NATS; closed with the test. */
export async function runningNode(
	servers: readonly string[],
	options: Partial<HubOptions> = {},
): Promise<{readonly hub: Hub; readonly url: string}> {
	const logger = options.logger ?? silentLogger;
	const backend = await openNatsBackend({servers, name: 'test', logger});
	const hub = new Hub({host: '127.0.0.1', port: 0, data: scratchDirectory(), backend, ...options});
	const url = await hub.listen();
	onTestFinished(() => hub.close());
	return {hub, url};
}

async function runningPair(data: string, options: Partial<HubOptions>): Promise<RunningHub> {
	const server = serversOf.get(data) ?? (await runningNats())[0]!.url;
	serversOf.set(data, server);
	const {hub, url: executorUrl} = await runningNode([server], {...options, data});
	const {data: _data, port: _port, ...rest} = options;
	const other = await runningNode([server], rest);
	const executorToken = (await hub.tokens.create('executor', '*')).token;
	const clientToken = (await hub.tokens.create('client', '*')).token;
	return {hub, url: other.url, executorUrl, data, executorToken, clientToken};
}

export interface RunningExecutor {
	readonly server: ExecServer;
	readonly link: ExecutorLink;
	readonly keys: NoiseKeys;
	/** Settles when the link has ended. */
	readonly ended: Promise<void>;
}

/** A server that is reached through a hub, when it is online. */
export async function runningExecutor(
	{
		url: clientUrl,
		executorUrl: url = clientUrl,
		executorToken,
	}: Pick<RunningHub, 'url' | 'executorUrl' | 'executorToken'>,
	environmentId: string,
	keys = createNoiseKeys(nodeNoiseCrypto),
	options: Partial<ExecutorLinkOptions> = {},
): Promise<RunningExecutor> {
	const server = new ExecServer();
	const online = new Deferred();
	const link = new ExecutorLink({
		registry: new RegistryClient({url, environmentId, token: () => executorToken}),
		keys,
		accept: transport => void server.accept(transport),
		logger: silentLogger,
		onOnline: () => online.resolve(),
		...options,
	});
	const ended = link.run();
	ended.catch(error => online.reject(error as Error));
	onTestFinished(async () => {
		link.close();
		await server.shutdown(0);
	});
	await online.promise;
	return {server, link, keys, ended};
}

/** A function that connects to an environment of a hub, with one key for all its connections. */
export function connectVia(
	{url, clientToken}: Pick<RunningHub, 'url' | 'clientToken'>,
	environmentId: string,
	keys = createNoiseKeys(nodeNoiseCrypto),
): (signal?: AbortSignal) => Promise<Transport> {
	const registry = new RegistryClient({url, environmentId, token: () => clientToken});
	return async signal => {
		const bundle = await registry.connect(harnessKey(keys), signal);
		return connectHarness({environmentId, keys, bundle, signal});
	};
}

/** An environment that is reached through a hub; closed with the test. */
export function environmentVia({url, clientToken: token}: RunningHub, environmentId: string): Environment {
	const target = {kind: 'registry', url: `registry+${url}/${environmentId}`, token, executorKey: 'any'} as const;
	const environment = Environment.remote(environmentId, target);
	onTestFinished(() => environment.close());
	return environment;
}
