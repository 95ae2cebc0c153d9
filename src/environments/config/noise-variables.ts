import type {EnvironmentProvider, EnvironmentSnapshot} from '../environment-provider.js';
import {invalidEnvironment, targetFromUrl} from '../remote/remote-url.js';
import type {ConfigVariables} from './config-variables.js';
import {NOISE_VARIABLES} from './default-choice.js';

const REMOTE = 'remote';
const {registryUrl, environmentId, authToken, accountId} = NOISE_VARIABLES;

/** The environment behind a registry that upstream's variables name: alone, and before every other source. */
export class NoiseVariablesProvider implements EnvironmentProvider {
	readonly #variables: ConfigVariables;

	constructor(variables: ConfigVariables) {
		this.#variables = variables;
	}

	async snapshot(): Promise<EnvironmentSnapshot | undefined> {
		const variables = this.#variables;
		const [url, id, token] = [registryUrl, environmentId, authToken].map(name => variables[name]?.trim());
		if (!url && !id && !token) return undefined;
		if (!url || !id || !token) throw incompleteError();
		const address = `registry+${url.replace(/\/+$/, '')}/${id}`;
		const account = variables[accountId]?.trim() || undefined;
		// The stock client takes the key that the registry names.
		const target = {...targetFromUrl(address, {token}), executorKey: 'any', accountId: account};
		return {defaultId: REMOTE, includesLocal: false, remotes: new Map([[REMOTE, target]])};
	}
}

/** A user who asks for a machine behind a registry must not get another one instead; upstream's text. */
function incompleteError(): Error {
	const names = `${registryUrl}, ${environmentId}, and ${authToken}`;
	return invalidEnvironment(`environment registry configuration error: Noise environment requires ${names}`);
}
