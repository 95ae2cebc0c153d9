import {combineProviders, type EnvironmentProvider} from '../environment-provider.js';
import {homeOf} from './config-home.js';
import {type ConfigVariables, VariablesProvider} from './config-variables.js';
import {FileProvider} from './file-provider.js';
import {NoiseVariablesProvider} from './noise-variables.js';

/** Sources of the default provider. */
export interface ProviderOptions {
	readonly variables?: ConfigVariables | undefined;
	/** Directory of `environments.toml`: `LONGARM_HOME`, else `.longarm` in the user's home directory. */
	readonly home?: string | undefined;
}

/** The registry of upstream's variables, else `environments.toml`, else the variables. */
export function defaultProvider({
	variables = process.env,
	home = homeOf(variables),
}: ProviderOptions = {}): EnvironmentProvider {
	return combineProviders(
		new NoiseVariablesProvider(variables),
		new FileProvider(home),
		new VariablesProvider(variables),
	);
}
