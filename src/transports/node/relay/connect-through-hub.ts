import {join} from 'node:path';
import {isMeantAsPool} from '../../../protocol/relay/pool-selector.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {nodeNoiseCrypto} from '../../../shared/node/node-noise-crypto.js';
import {stateHome} from '../../../shared/node/state-home.js';
import {createNoiseKeys, type NoiseKeys} from '../../../shared/noise/hybrid-ik.js';
import type {Transport} from '../../transport.js';
import {UnreachableError} from '../connect-web-socket.js';
import {parseRegistryAddress, type RegistryTarget, registryAddress} from '../registry-scheme.js';
import {hintOfTlsError} from '../tls-trust.js';
import {connectHarness, HandshakeRefusedError, harnessKey} from './connect-harness.js';
import {loadNoiseKeys} from './key-file.js';
import {requireKnownExecutor} from './known-executors.js';
import {isPoolRefusal, PlacedTargets, toPoolError} from './placed-targets.js';
import {RegistryClient} from './registry-client.js';
import {RegistryError} from './registry-errors.js';

const KEY_FILE = 'client-key.json';
/** Attempts after the first one, if that failed for a reason that may pass, and the time for all of them; codex 0.169 makes two such rounds. */
export const MAX_CONNECT_RETRIES = 4;
const CONNECT_BUDGET_MS = 14_000;
/** Pauses double from the first to the longest, each with up to half of it on top. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5000;
const UNAUTHORIZED = 401;
/** Key of this user, which executors can be told to let in and no other; one for this program alone without a home directory. */
let ownKeys: NoiseKeys | undefined;

/** Targets that were reached: a client that has lost its connection tries again by itself, and sooner. */
const reached = new WeakSet<RegistryTarget>();

/** Executors that hubs have chosen for targets. */
const placed = new PlacedTargets();

/** Opens a channel to an executor; the first time it tries again for a while when that is offline, or the hub cannot be reached. */
export async function connectThroughHub(target: RegistryTarget, signal?: AbortSignal): Promise<Transport> {
	const startedAt = performance.now();
	for (let retries = 0; ; retries++) {
		try {
			const transport = await connectOnce(target, signal);
			reached.add(target);
			return transport;
		} catch (error) {
			if (placed.noteFailure(target)) reached.delete(target);
			if (reached.has(target)) throw error;
			const pauseMs = pauseBefore(error, retries);
			const nextAt = performance.now() + pauseMs - startedAt;
			const isInBudget = mayPass(error) && retries < MAX_CONNECT_RETRIES && nextAt < CONNECT_BUDGET_MS;
			const waits = (mayPass(error) || isPoolRefusal(error)) && nextAt < (target.poolWaitMs ?? 0);
			if (signal?.aborted || !(isInBudget || waits))
				throw toPoolError(error, parseRegistryAddress(target.url).environmentId);
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

/** Every attempt asks the hub anew: its answer is good for one connection. A client that was placed stays with its executor. */
async function connectOnce(target: RegistryTarget, signal?: AbortSignal): Promise<Transport> {
	const {registry: url, environmentId: asked} = parseRegistryAddress(target.url);
	const {token, tls, accountId, executorKey} = target;
	ownKeys ??= loadOwnKeys();
	const wanted = placed.find(target) ?? asked;
	const registry = new RegistryClient({url, environmentId: wanted, token: () => token, accountId, tls});
	const bundle = await registry.connect(harnessKey(ownKeys), signal);
	const {environmentId} = bundle;
	const isPool = isMeantAsPool(asked);
	requireKnownExecutor(isPool ? registryAddress(url, environmentId) : target.url, bundle.executorKey, executorKey);
	const transport = await connectHarness({environmentId, keys: ownKeys, bundle, tls, signal});
	if (isPool) placed.note(target, environmentId);
	return transport;
}

/** A ticket that is refused may have expired on its way; another one is asked for. */
function mayPass(error: unknown): boolean {
	// A caller that does not want to wait for room is told at once.
	if (error instanceof RegistryError) return error.isPassing && !isPoolRefusal(error);
	// An executor that has no room, or is about to end, by the time the client comes: the hub chooses another.
	if (error instanceof HandshakeRefusedError) return isPoolRefusal(error);
	if (!(error instanceof UnreachableError)) return false;
	const {status} = error;
	if (status === undefined) return !(error.cause instanceof Error && hintOfTlsError(error.cause));
	return status >= 500 || status === UNAUTHORIZED;
}

function pauseBefore(error: unknown, retries: number): number {
	const isRefusedTicket = error instanceof UnreachableError && error.status === UNAUTHORIZED;
	if (isRefusedTicket && retries === 0) return 0;
	return Math.min(FIRST_PAUSE_MS * 2 ** retries, MAX_PAUSE_MS) * (1 + Math.random() / 2);
}

function loadOwnKeys(): NoiseKeys {
	const home = stateHome(process.env);
	return home === undefined ? createNoiseKeys(nodeNoiseCrypto) : loadNoiseKeys(join(home, KEY_FILE));
}
