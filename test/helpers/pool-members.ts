import {onTestFinished} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import type {PoolOffer} from '../../src/protocol/relay/executor-offer.js';
import {ExecServer} from '../../src/server/server.js';
import {Slots} from '../../src/server/slots.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {silentLogger} from '../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys} from '../../src/shared/noise/hybrid-ik.js';
import {ExecutorLink} from '../../src/transports/node/relay/executor-link.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import {listRegistry} from '../../src/transports/node/relay/registry-listing.js';
import type {RunningHub} from './hubs.js';
import {askUntil, eventually} from './processes.js';

export interface PoolMember {
	readonly server: ExecServer;
	readonly slots: Slots;
	readonly link: ExecutorLink;
	/** Clients of pools that it has refused. */
	readonly refusals: number;
}

/** A server that offers pools, labels and slots to a hub, once the hub knows its load; `limit` for one that has fewer slots than it says. */
export async function poolMember(
	{hub, url: clientUrl, executorUrl: url = clientUrl, executorToken, clientToken}: RunningHub,
	environmentId: string,
	offer: Partial<PoolOffer> & {readonly limit?: number} = {},
): Promise<PoolMember> {
	const {labels = {}, pools = ['gpu'], slots: offered = 2, limit = offered} = offer;
	let refusals = 0;
	const server = new ExecServer();
	const online = new Deferred();
	const slots = new Slots({
		limit,
		runningProcesses: () => server.commands.used,
		onChange: () => link.reportLoad(),
	});
	const link = new ExecutorLink({
		registry: new RegistryClient({url, environmentId, token: () => executorToken}),
		keys: createNoiseKeys(nodeNoiseCrypto),
		offer: {labels, pools, slots: offered},
		slots: {
			get load() {
				return slots.load;
			},
			take() {
				const place = slots.take();
				if (typeof place === 'string') refusals++;
				return place;
			},
		},
		accept: (transport, place) => {
			slots.join(server.accept(transport), place);
		},
		logger: silentLogger,
		onOnline: () => online.resolve(),
	});
	link.run().catch(error => online.reject(error as Error));
	server.commands.onChange(() => slots.changed());
	onTestFinished(async () => {
		link.close();
		await server.shutdown(0);
	});
	await online.promise;
	await eventually(() => hub.relay.findExecutor(environmentId)?.load !== undefined);
	await untilListed(clientUrl, clientToken, environmentId);
	return {
		server,
		slots,
		link,
		get refusals() {
			return refusals;
		},
	};
}

/** An environment of a pool; closed with the test. */
export function poolEnvironment(
	{url, clientToken}: Pick<RunningHub, 'url' | 'clientToken'>,
	selector: string,
	{token = clientToken, poolWaitMs}: {readonly token?: string; readonly poolWaitMs?: number} = {},
): Environment {
	const address = `registry+${url}/${selector}`;
	const environment = Environment.remote(selector, {
		kind: 'registry',
		url: address,
		token,
		executorKey: 'any',
		poolWaitMs,
	});
	onTestFinished(() => environment.close());
	return environment;
}

/** Id of the machine that the hub has chosen. */
export async function memberOf(environment: Environment): Promise<string | undefined> {
	return (await environment.member())?.split('/').at(-1);
}

/** The node of the clients knows the machine, too. */
async function untilListed(url: string, token: string, id: string): Promise<void> {
	await askUntil(
		() => listRegistry(url, {token: () => token}),
		environments => environments.some(each => each.id === id && each.isOnline && each.state !== null),
	);
}
