import {Environment} from '../environments/environment.js';
import {LOCAL} from './local-name.js';
import {type OpenOptions, targetNamed} from './target-named.js';

/** The environment somebody named: this machine when nothing was said. Connects when it is first used. */
export async function openEnvironment(given = LOCAL, options: OpenOptions = {}): Promise<Environment> {
	if (given === LOCAL) return Environment.local();
	return Environment.remote(given, await targetNamed(given, options));
}
