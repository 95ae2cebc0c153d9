import {isMeantAsPool, parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import {
	parseRegistryAddress,
	type RegistryTarget,
	registryAddress,
	requireEnvironmentOfHub,
} from '../../transports/node/registry-scheme.js';
import type {RemoteTarget} from './remote-target.js';
import {invalidEnvironment} from './remote-url.js';

const FORM = 'pool:NAME, @KEY=VALUE+KEY=VALUE or pool:NAME+KEY=VALUE';
const ADD_HINT = 'name a hub with longarm env add NAME registry+https://HUB/pool:NAME --token-file FILE';

/** Something behind a hub that an environment of the configuration uses. */
export interface HubTarget {
	/** `NAME/pool:gpu` or `NAME/devbox`, where NAME is that environment. */
	readonly name: string;
	readonly target: RemoteTarget & RegistryTarget;
	/** Whether the hub chooses the machine. */
	readonly isPool: boolean;
}

/**
 * The target of `pool:gpu` or `@os=linux` at the only hub that is configured, or of `NAME/pool:gpu`, `NAME/@os=linux` and
 * `NAME/ID` at the hub of the environment NAME, with its token. Undefined for a text that is none of these; throws
 * `ENVIRONMENT_INVALID` for a hub that is not there, or where there are several.
 */
export function findHubTarget(given: string, remotes: ReadonlyMap<string, RemoteTarget>): HubTarget | undefined {
	if (isMeantAsPool(given)) return toHubTarget(onlyHub(given, remotes), given);
	const slash = given.indexOf('/');
	if (slash <= 0) return undefined;
	const name = given.slice(0, slash);
	const target = remotes.get(name);
	if (!target) return undefined;
	if (target.kind === 'registry') return toHubTarget({name, target}, given.slice(slash + 1));
	throw invalidEnvironment(`\`${given}\`: the environment \`${name}\` is not reached through a hub`, {name});
}

interface Hub {
	readonly name: string;
	readonly target: RemoteTarget & RegistryTarget;
}

function toHubTarget({name, target}: Hub, asked: string): HubTarget {
	const isPool = isMeantAsPool(asked);
	if (isPool && !parsePoolSelector(asked)) {
		throw invalidEnvironment(`\`${asked}\` selects nothing; expected ${FORM}`, {selector: asked});
	}
	if (!isPool) requireEnvironmentOfHub(asked);
	const {registry} = parseRegistryAddress(target.url);
	// The pin of one machine is not that of another, and neither is its session.
	const executorKey = target.executorKey === 'any' ? 'any' : undefined;
	const url = registryAddress(registry, asked);
	return {name: `${name}/${asked}`, target: {...target, url, executorKey, resumeSessionId: undefined}, isPool};
}

/** The environment that stands for the only hub; of several of one hub the one of the pool itself, else of a pool, else the first. */
function onlyHub(given: string, remotes: ReadonlyMap<string, RemoteTarget>): Hub {
	const hubs = new Map<string, Hub & {readonly rank: number}>();
	for (const [name, target] of remotes) {
		if (target.kind !== 'registry') continue;
		const {registry, environmentId} = parseRegistryAddress(target.url);
		const rank = environmentId === given ? 2 : isMeantAsPool(environmentId) ? 1 : 0;
		if (rank > (hubs.get(registry)?.rank ?? -1)) hubs.set(registry, {name, target, rank});
	}
	const [first, ...others] = hubs.values();
	if (!first) throw invalidEnvironment(`\`${given}\` is about a hub, and none is known: ${ADD_HINT}`);
	if (others.length === 0) return first;
	const choices = [first, ...others].map(({name}) => `${name}/${given}`).join(' or ');
	throw invalidEnvironment(`\`${given}\`: there are several hubs; say ${choices}`, {selector: given});
}
