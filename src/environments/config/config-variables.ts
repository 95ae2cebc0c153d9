import {type EnvironmentProvider, type EnvironmentSnapshot} from '../environment-provider.js';
import {type GivenTrust, withTrust} from '../remote/remote-trust.js';
import {targetFromUrl} from '../remote/remote-url.js';
import {URL_VARIABLES} from './default-choice.js';

export type ConfigVariables = Readonly<Record<string, string | undefined>>;

export const TOKEN_VARIABLE = 'LONGARM_EXEC_SERVER_TOKEN';
const CA_FILE_VARIABLE = 'LONGARM_EXEC_SERVER_CA_FILE';
const FINGERPRINT_VARIABLE = 'LONGARM_EXEC_SERVER_TLS_FINGERPRINT';
const REMOTE = 'remote';

/** The environment of a variable: an address means that machine and not this one, `none` means nothing at all. */
export class VariablesProvider implements EnvironmentProvider {
	readonly #variables: ConfigVariables;

	constructor(variables: ConfigVariables) {
		this.#variables = variables;
	}

	async snapshot(): Promise<EnvironmentSnapshot | undefined> {
		const variables = this.#variables;
		const given = URL_VARIABLES.map(name => variables[name]?.trim()).find(value => value);
		if (given === undefined) return undefined;
		if (given.toLowerCase() === 'none') return {defaultId: undefined, includesLocal: false, remotes: new Map()};
		const target = withTrust(targetFromUrl(given, {token: variables[TOKEN_VARIABLE]}), trustOf(variables), given);
		return {defaultId: REMOTE, includesLocal: false, remotes: new Map([[REMOTE, target]])};
	}
}

/** Whom to trust at a server that is given by its URL. */
export function trustOf(variables: ConfigVariables): GivenTrust {
	return {
		caFile: variables[CA_FILE_VARIABLE] || undefined,
		fingerprint: variables[FINGERPRINT_VARIABLE] || undefined,
	};
}
