import {defaultProvider} from '../../../environments/config/default-provider.js';
import type {Environment} from '../../../environments/environment.js';
import {EnvironmentManager} from '../../../environments/environment-manager.js';
import {type EnvironmentProvider, environmentIds, readSnapshot} from '../../../environments/environment-provider.js';
import {openEnvironment} from '../../common/environments.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {EXIT} from '../../exit-codes.js';
import type {EnvListOptions} from './env-list.js';
import {type ProbeResult, probeEnvironment} from './probe-environment.js';

/** Longer ones, such as commands, do without a column. */
const MAX_NAME_WIDTH = 24;

/** Tries environments, all at once; the exit code is 1 when one cannot be reached. */
export async function testEnvironments(names: readonly string[], {json, provider}: EnvListOptions): Promise<number> {
	// A name that is not known is a mistake of the caller, not of the environment.
	const environments =
		names.length === 0
			? await openAll(provider)
			: await Promise.all(names.map(name => openEnvironment(name, {provider, pools: {waitMs: undefined}})));
	const examined = await Promise.all(environments.map(probeEnvironment));
	if (json) writeJson(examined, '\t');
	else writeLines(toLines(examined));
	return examined.every(({reachable}) => reachable) ? EXIT.ok : EXIT.failed;
}

/** All that have a name, in the order in which they are listed. */
async function openAll(provider: EnvironmentProvider = defaultProvider()): Promise<Environment[]> {
	const snapshot = await readSnapshot(provider);
	const manager = new EnvironmentManager(snapshot);
	return environmentIds(snapshot).map(id => manager.require(id));
}

function toLines(examined: readonly ProbeResult[]): string[] {
	const width = Math.min(MAX_NAME_WIDTH, Math.max(...examined.map(({name}) => name.length)));
	const indent = ' '.repeat('FAILED  '.length + width + 2);
	return examined.flatMap(each => {
		const name = each.name.padEnd(width);
		if (!each.reachable) {
			return [`FAILED  ${name}  ${each.reason}`, ...(each.hint === undefined ? [] : [`${indent}hint: ${each.hint}`])];
		}
		const cannot = each.cannot.length === 0 ? [] : [`${indent}cannot ${each.cannot.join(', ')}`];
		return [`ok      ${name}  ${describeServer(each)}`, ...cannot];
	});
}

function describeServer({
	server,
	version,
	protocol,
	os,
	arch,
	shell,
	roundTripMs,
}: Extract<ProbeResult, {reachable: true}>): string {
	const who = [server, version].filter(Boolean).join(' ');
	const system = [os, arch].filter(Boolean).join(' ');
	const parts = [protocol === 'current' ? who : `${who} (protocol ${protocol})`, system, shell, `${roundTripMs} ms`];
	return parts.filter(Boolean).join(', ');
}
