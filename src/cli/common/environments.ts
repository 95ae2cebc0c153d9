import {mayHaveDefault} from '../../environments/config/default-choice.js';
import {Environment} from '../../environments/environment.js';
import type {EnvironmentProvider} from '../../environments/environment-provider.js';

export interface OpenOptions {
	/** Gets the standard error of a command that is the way to the machine. */
	readonly onStderr?: (text: string) => void;
	/** Source of names; `environments.toml` and the variables by default. */
	readonly provider?: EnvironmentProvider | undefined;
	/** Without the line that tells which environment is the default. */
	readonly quiet?: boolean | undefined;
}

/**
 * The environment given with `-e`, else the default one, which a line on a terminal tells, else this machine. Connects
 * when it is first used.
 */
export async function openEnvironment(given?: string, options: OpenOptions = {}): Promise<Environment> {
	// Without the constant of another module, which would be one more part to load.
	if (given === 'local' || (given === undefined && !hasSource(options))) return Environment.local();
	// Loaded when it is needed: a command of this machine needs no configuration.
	const {resolveDefault, resolveTarget} = await import('./resolve-target.js');
	if (given !== undefined) return Environment.remote(given, await resolveTarget(given, options));
	const found = await resolveDefault(options);
	return found ? Environment.remote(found.name, found.target) : Environment.local();
}

function hasSource({provider}: OpenOptions): boolean {
	return provider !== undefined || mayHaveDefault(process.env);
}
