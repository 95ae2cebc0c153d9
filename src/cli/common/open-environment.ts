import {Environment} from '../../environments/environment.js';
import {LOCAL} from './address.js';
import {type OpenOptions, resolveTarget} from './resolve-target.js';

/** The environment somebody named: this machine when nothing was said. Connects when it is first used. */
export async function openEnvironment(given = LOCAL, options: OpenOptions = {}): Promise<Environment> {
	if (given === LOCAL) return Environment.local();
	return Environment.remote(given, await resolveTarget(given, options));
}
