import {Environment} from '../../environments/environment.js';
import type {EnvironmentProvider} from '../../environments/environment-provider.js';

export interface OpenOptions {
	/** Gets the standard error of a command that is the way to the machine. */
	readonly onStderr?: (text: string) => void;
	/** Source of names; `environments.toml` and the variables by default. */
	readonly provider?: EnvironmentProvider | undefined;
}

/** The environment given with `-e`: this machine when nothing was said. Connects when it is first used. */
export async function openEnvironment(given?: string, options: OpenOptions = {}): Promise<Environment> {
	// Without the constant of another module, which would be one more part to load.
	if (given === undefined || given === 'local') return Environment.local();
	// Loaded when it is needed: a command of this machine needs no configuration.
	const {resolveTarget} = await import('./resolve-target.js');
	return Environment.remote(given, await resolveTarget(given, options));
}
