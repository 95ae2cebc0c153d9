import {Environment} from '../../environments/environment.js';
import type {RegistrationRecord} from '../../hub/store/hub-records.js';
import {coversEnvironment} from '../../hub/store/hub-tokens.js';
import {matchesPool, parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import type {TlsOptions} from '../../transports/node/tls-trust.js';
import {JobInputError} from '../input/job-input-error.js';
import type {JobExecutor} from '../item-worker.js';
import type {DescribedExecutor} from '../job-description.js';

/** Address of this hub for itself, and a token for it. */
export interface OwnAccess {
	readonly url: string;
	readonly token: string;
	readonly tls?: TlsOptions | undefined;
}

/**
 * Environments that the executors of a job stand for: a pool and labels stand for all members that the token of its client is
 * good for, each with its own number of slots. Throws a `JobInputError` for one that is not registered, or not for the client.
 */
export function selectExecutors(
	described: readonly DescribedExecutor[],
	registrations: readonly RegistrationRecord[],
	pattern: string,
): readonly DescribedExecutor[] {
	const allowed = registrations.filter(({environmentId}) => coversEnvironment({pattern}, environmentId));
	const selected = new Map<string, DescribedExecutor>();
	for (const each of described) {
		const members = allowed.filter(registration => isMember(registration, each.name));
		if (members.length === 0) throw new JobInputError(`the hub knows no executor ${each.name} for this token`);
		for (const {environmentId: name, slots = each.slots} of members) {
			if (!selected.has(name)) selected.set(name, {...each, name, where: name, slots: Math.min(slots, each.slots)});
		}
	}
	return [...selected.values()];
}

/** By its id, or by a selector. */
function isMember({environmentId, pools = [], labels = {}}: RegistrationRecord, text: string): boolean {
	const selector = parsePoolSelector(text);
	return selector ? matchesPool(selector, {pools, labels}) : environmentId === text;
}

/** Connects to executors as a client of this very hub, when they are used first. */
export function openHubExecutors(selected: readonly DescribedExecutor[], {url, token, tls}: OwnAccess): JobExecutor[] {
	return selected.map(({name, slots, cwd}) => {
		// The hub names the key itself, so there is nobody to pin it against.
		const target = {kind: 'registry', url: `registry+${url}/${name}`, token, tls, executorKey: 'any'} as const;
		return {name, slots, environment: Environment.remote(name, target), ...(cwd !== undefined && {cwd})};
	});
}
