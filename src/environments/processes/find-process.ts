import type {ListedProcess} from '../../client/process/shared-process.js';
import type {Environment} from '../environment.js';
import {UnknownProcessError} from './unknown-process-error.js';

/** A process by its environment and its id or name; whether there is one is not known yet. */
export interface GivenProcess {
	readonly environment: Environment;
	/** Id or name. */
	readonly reference: string;
}

/** States of a process that has not ended. */
const LIVING: ReadonlySet<ListedProcess['state']> = new Set(['starting', 'running']);

/** The process as it is listed. Of several with this name a living one counts first, then the latest, as on the server. */
export async function findProcess({environment, reference}: GivenProcess): Promise<ListedProcess> {
	const known = await environment.processes.list({all: true, includeEnded: true});
	const named = known
		.filter(({name}) => name === reference)
		.sort((one, other) => Number(isLiving(other)) - Number(isLiving(one)) || other.startedAtMs - one.startedAtMs);
	const found = named[0] ?? known.find(({processId}) => processId === reference);
	if (found) return found;
	throw new UnknownProcessError(reference, environment.id, known);
}

export function isLiving({state}: ListedProcess): boolean {
	return LIVING.has(state);
}

/** Whether it has ended and so has all its output. */
export function hasClosed({state}: ListedProcess): boolean {
	return state === 'closed' || state === 'lost';
}
