import {type PoolSelector, parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import {formatLabels} from '../../shared/labels.js';
import {formatDuration} from '../../shared/units.js';
import type {RegistryEnvironment} from '../../transports/node/relay/registry-listing.js';
import {usageError} from '../exit-codes.js';

const SECOND_MS = 1000;
const STATE_WIDTH = 9;

/** Throws for a text that selects nothing at a hub. */
export function requirePoolSelector(text: string): PoolSelector {
	const selector = parsePoolSelector(text);
	if (selector) return selector;
	throw usageError(`--select ${text}: expected pool:NAME, @KEY=VALUE+KEY=VALUE or pool:NAME+KEY=VALUE`);
}

/** The part of an environment that is shown. */
type ShownEnvironment = Readonly<
	Omit<RegistryEnvironment, 'pools' | 'state'> & {pools: readonly string[]; state: string | null}
>;

/** One line for each environment of a hub. */
export function formatHubEnvironments(environments: readonly ShownEnvironment[]): string[] {
	if (environments.length === 0) return ['there are no environments'];
	const width = Math.max(...environments.map(environment => nameOf(environment).length));
	return environments.map(environment => `${nameOf(environment).padEnd(width)}  ${describe(environment)}`);
}

function nameOf({id, tenant}: ShownEnvironment): string {
	return tenant === undefined ? id : `${tenant}/${id}`;
}

function describe(environment: ShownEnvironment): string {
	const {isOnline, key, state} = environment;
	const shown = isOnline ? (state === 'draining' ? 'draining' : 'online') : 'offline';
	const use = isOnline ? `  ${describeUse(environment)}` : '';
	return `${shown.padEnd(STATE_WIDTH)}${key}${use}${describeOffer(environment)}`;
}

function describeUse({streams, onlineForMs, slots, used}: ShownEnvironment): string {
	const since = formatDuration(Math.floor((onlineForMs ?? 0) / SECOND_MS) * SECOND_MS);
	const clients = `for ${since}, ${streams} ${streams === 1 ? 'client' : 'clients'}`;
	return slots === null ? clients : `${clients}, ${used ?? '?'} of ${slots} slots`;
}

function describeOffer({pools, labels}: ShownEnvironment): string {
	const parts = [
		...pools.map(pool => `pool:${pool}`),
		...(Object.keys(labels).length > 0 ? [formatLabels(labels)] : []),
	];
	return parts.length === 0 ? '' : `  [${parts.join(' ')}]`;
}
