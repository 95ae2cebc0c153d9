import {basename} from 'node:path';
import type {Environment} from '../../../environments/environment.js';
import type {MachineLimits} from '../../../mcp/server/machines/machine-limits.js';
import {NamedMachine} from '../../../mcp/server/machines/named-machine.js';
import type {EnvironmentLabels} from '../../../shared/labels.js';
import {openEnvironment} from '../../common/environments.js';
import {relayStderr} from '../../common/messages.js';
import {usageError} from '../../exit-codes.js';

export interface MachineChoice {
	/** Of `-e`: names, addresses, and selectors such as `a,b,@os=linux`. */
	readonly environments: readonly string[];
	readonly all: boolean;
	/** For all of them. */
	readonly limits: MachineLimits;
}

/** The machines of a command line, the default first. None is connected to. */
export async function openMachines({environments, all, limits}: MachineChoice): Promise<NamedMachine[]> {
	if (all && environments.length > 0) throw usageError('--all and -e exclude each other');
	if (!all && environments.length === 0) return [toMachine(await open(undefined), new Map(), [], limits)];
	const chosen = await choose(environments, all);
	const machines: NamedMachine[] = [];
	for (const name of chosen.names) machines.push(toMachine(await open(name), chosen.labels, machines, limits));
	return machines;
}

interface Chosen {
	readonly names: readonly string[];
	readonly labels: ReadonlyMap<string, EnvironmentLabels>;
}

/** Loaded when it is needed: most servers are for one machine. */
async function choose(given: readonly string[], all: boolean): Promise<Chosen> {
	const [{defaultProvider}, provider, {selectNames}, {findScheme}] = await Promise.all([
		import('../../../environments/config/default-provider.js'),
		import('../../../environments/environment-provider.js'),
		import('./select-names.js'),
		import('../../../transports/node/registry.js'),
	]);
	const snapshot = await provider.readSnapshot(defaultProvider());
	const {labels = new Map<string, EnvironmentLabels>(), defaultId} = snapshot;
	const known = provider.environmentIds(snapshot);
	if (all) return {names: [...new Set([...(defaultId === undefined ? [] : [defaultId]), ...known])], labels};
	// An address may have commas of its own.
	const selected = given.flatMap(each => (findScheme(each) ? [each] : selectNames(each, snapshot)));
	return {names: [...new Set(selected)], labels};
}

function open(name: string | undefined): Promise<Environment> {
	return openEnvironment(name, {quiet: true, isNamed: true, onStderr: relayStderr, pools: {waitMs: undefined}});
}

/** Machines that are given by their address are named by their host. */
function toMachine(
	environment: Environment,
	labels: ReadonlyMap<string, EnvironmentLabels>,
	others: readonly NamedMachine[],
	limits: MachineLimits,
): NamedMachine {
	const wanted = shortNameOf(environment.id);
	const taken = others.filter(({name}) => name === wanted || name.startsWith(`${wanted}#`)).length;
	const name = taken === 0 ? wanted : `${wanted}#${taken + 1}`;
	return new NamedMachine(name, environment, labels.get(environment.id) ?? {}, limits);
}

function shortNameOf(id: string): string {
	if (/^wss?:/.test(id) && URL.canParse(id)) return new URL(id).host;
	if (id.startsWith('unix:')) return basename(id.slice('unix:'.length));
	return id.startsWith('cmd:') ? 'cmd' : id;
}
