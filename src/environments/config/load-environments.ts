import {homedir} from 'node:os';
import {join} from 'node:path';
import {type ConfigVariables, environmentsFromVariables} from './config-variables.js';
import {type EnvironmentsConfig, readEnvironmentsFile} from './environments-file.js';

export interface LoadOptions {
	readonly variables?: ConfigVariables;
	/** Where `environments.toml` is looked for: `LONGARM_HOME`, else `.longarm` in the user's home directory. */
	readonly home?: string;
}

/** What `environments.toml` says, else what the variables say; else this machine. Connects to nothing. */
export async function loadEnvironments({
	variables = process.env,
	home = homeOf(variables),
}: LoadOptions = {}): Promise<EnvironmentsConfig> {
	return (await readEnvironmentsFile(home)) ?? environmentsFromVariables(variables);
}

export function homeOf(variables: ConfigVariables): string {
	return variables['LONGARM_HOME'] || join(homedir(), '.longarm');
}
