import {join} from 'node:path';
import {isMeantAsPool} from '../../../protocol/relay/pool-selector.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {nodeNoiseCrypto} from '../../../shared/node/node-noise-crypto.js';
import {stateHome} from '../../../shared/node/state-home.js';
import {createNoiseKeys, type NoiseKeys} from '../../../shared/noise/hybrid-ik.js';
import type {Transport} from '../../transport.js';
import {parseRegistryAddress, type RegistryTarget, registryAddress} from '../registry-scheme.js';
import {ConnectAttempts} from './connect-attempts.js';
import {connectHarness, HandshakeLostError, harnessKey} from './connect-harness.js';
import {loadNoiseKeys} from './key-file.js';
import {requireKnownExecutor} from './known-executors.js';
import {PlacedTargets, toPoolError} from './placed-targets.js';
import {type ConnectBundle, RegistryClient} from './registry-client.js';
import {isUnreached} from './unreached.js';

const KEY_FILE = 'client-key.json';
/** Key of this user, which executors can be told to let in and no other; one for this program alone without a home directory. */
let ownKeys: NoiseKeys | undefined;

/** Targets that were reached: a client that has lost its connection tries again by itself, and sooner. */
const reached = new WeakSet<RegistryTarget>();

/** Executors that hubs have chosen for targets. */
const placed = new PlacedTargets();

/**
 * Opens a channel to an executor. The first time it tries again for a while when that is offline or does not let the client in.
 * Connections that reach no hub are made again every time.
 */
export async function connectThroughHub(target: RegistryTarget, signal?: AbortSignal): Promise<Transport> {
	const attempts = new ConnectAttempts(target);
	const ticket: UnusedTicket = {bundle: undefined};
	for (;;) {
		try {
			const transport = await connectOnce(target, ticket, signal);
			reached.add(target);
			return transport;
		} catch (error) {
			if (placed.noteFailure(target)) reached.delete(target);
			// A node that is dead has not used the ticket. One that dies now may have: then it is refused, and another one is asked for.
			if (error instanceof HandshakeLostError || !isUnreached(error)) ticket.bundle = undefined;
			const pauseMs = attempts.pauseAfter(error, reached.has(target));
			if (signal?.aborted || pauseMs === undefined) {
				throw toPoolError(error, parseRegistryAddress(target.url).environmentId);
			}
			await waitAtMost(new Promise(() => {}), pauseMs, signal);
			signal?.throwIfAborted();
		}
	}
}

/** Address of the executor that the hub has chosen for a target; undefined before that, and for a target that names one. */
export function findPlacement(target: RegistryTarget): string | undefined {
	const member = placed.find(target);
	return member === undefined ? undefined : registryAddress(parseRegistryAddress(target.url).registry, member);
}

/** Answer of the hub, which is good for one connection, as long as no socket was opened with it. */
interface UnusedTicket {
	bundle: ConnectBundle | undefined;
}

/** A client that was placed stays with its executor. */
async function connectOnce(target: RegistryTarget, ticket: UnusedTicket, signal?: AbortSignal): Promise<Transport> {
	const {registry: url, environmentId: asked} = parseRegistryAddress(target.url);
	const {token, tls, accountId, executorKey} = target;
	ownKeys ??= loadOwnKeys();
	const wanted = placed.find(target) ?? asked;
	const registry = new RegistryClient({url, environmentId: wanted, token: () => token, accountId, tls});
	ticket.bundle ??= await registry.connect(harnessKey(ownKeys), signal);
	const {bundle} = ticket;
	const {environmentId} = bundle;
	const isPool = isMeantAsPool(asked);
	requireKnownExecutor(isPool ? registryAddress(url, environmentId) : target.url, bundle.executorKey, executorKey);
	const transport = await connectHarness({environmentId, keys: ownKeys, bundle, tls, signal});
	if (isPool) placed.note(target, environmentId);
	return transport;
}

function loadOwnKeys(): NoiseKeys {
	const home = stateHome(process.env);
	return home === undefined ? createNoiseKeys(nodeNoiseCrypto) : loadNoiseKeys(join(home, KEY_FILE));
}
