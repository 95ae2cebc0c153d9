import {isMeantAsPool, parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import {LongarmError} from '../../shared/errors.js';
import {
	isPoolTarget,
	parseRegistryAddress,
	type RegistryTarget,
	registryAddress,
} from '../../transports/node/registry-scheme.js';
import {type EnvironmentSnapshot, environmentIds, LOCAL} from '../environment-provider.js';
import {findHubTarget} from '../remote/hub-target.js';
import type {RemoteTarget} from '../remote/remote-target.js';
import {selectEnvironments, selectsByLabels} from './selector.js';

/** One machine of a selector. */
export interface SelectedMachine {
	/** A name of the configuration, `NAME/ID` for a machine of a hub, or an address. */
	readonly name: string;
	/** Slots it has told a hub. */
	readonly slots?: number | undefined;
}

/**
 * All machines that one part of a selector stands for: a name, labels of the configuration, else a pool or labels at a hub,
 * whose members are those that are connected now. Throws `POOL_EMPTY` where there are none.
 */
export async function selectMembers(term: string, snapshot: EnvironmentSnapshot): Promise<SelectedMachine[]> {
	const {remotes, labels = new Map()} = snapshot;
	const known = {names: [...new Set([LOCAL, ...environmentIds(snapshot)])], labels};
	const isConfigured = isMeantAsPool(term) ? selectsByLabels(term, known) : known.names.includes(term);
	const own = isConfigured ? remotes.get(term) : undefined;
	if (own && isPool(own)) return listMembers(own, `${term}/`);
	if (isConfigured || !mayBeAtHub(term, remotes)) return selectEnvironments(term, known).map(name => ({name}));
	const found = findHubTarget(term, remotes);
	if (!found) return selectEnvironments(term, known).map(name => ({name}));
	if (!found.isPool) return [{name: found.name}];
	return listMembers(found.target, found.name.slice(0, found.name.indexOf('/') + 1));
}

/** The machines of an address: those of the pool, or the one it names. */
export async function selectByAddress(address: string, target: RemoteTarget): Promise<SelectedMachine[]> {
	return isPool(target) ? listMembers(target, undefined) : [{name: address}];
}

/** `prefix` stands before the id of each; without one they are named by their addresses. */
async function listMembers(target: RegistryTarget, prefix: string | undefined): Promise<SelectedMachine[]> {
	const {listRegistry} = await import('../../transports/node/relay/registry-listing.js');
	const {registry, environmentId: selector} = parseRegistryAddress(target.url);
	const {token, tls} = target;
	const members = await listRegistry(registry, {token: () => token, tls}, selector);
	const open = members.filter(({isOnline, state}) => isOnline && state !== 'draining');
	if (open.length === 0) {
		const message = `no machine of ${selector} is connected to the hub, or none that this token is good for`;
		throw new LongarmError('POOL_EMPTY', {message, context: {selector}});
	}
	return open.map(({id, slots}) => ({
		name: prefix === undefined ? registryAddress(registry, id) : `${prefix}${id}`,
		slots: slots ?? undefined,
	}));
}

function isPool(target: RemoteTarget): target is RemoteTarget & RegistryTarget {
	return target.kind === 'registry' && isPoolTarget(target);
}

/** Labels are those of the configuration where no hub is configured. */
function mayBeAtHub(term: string, remotes: ReadonlyMap<string, RemoteTarget>): boolean {
	const hasHub = [...remotes.values()].some(({kind}) => kind === 'registry');
	return !term.startsWith('@') || (hasHub && parsePoolSelector(term) !== undefined);
}
