import {Environment} from '../../environments/environment.js';
import type {OpenOptions} from './resolve-target.js';

/** Name of this machine among environments. */
export const LOCAL = 'local';

/** The environment given with `-e`: this machine when nothing was said. Connects when it is first used. */
export async function openEnvironment(given = LOCAL, options: OpenOptions = {}): Promise<Environment> {
	if (given === LOCAL) return Environment.local();
	// Loaded when it is needed: a command of this machine needs no configuration.
	const {resolveTarget} = await import('./resolve-target.js');
	return Environment.remote(given, await resolveTarget(given, options));
}
