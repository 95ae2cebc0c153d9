import {invalidEnvironment, targetFromUrl} from '../remote/remote-url.js';
import type {EnvironmentsConfig} from './environments-file.js';

export type ConfigVariables = Readonly<Record<string, string | undefined>>;

/** Our own first; the peer's name for those who come from there. */
export const URL_VARIABLES = ['LONGARM_EXEC_SERVER_URL', 'CODEX_EXEC_SERVER_URL'];
export const TOKEN_VARIABLE = 'LONGARM_EXEC_SERVER_TOKEN';
const NOISE_PREFIX = 'CODEX_EXEC_SERVER_NOISE_';
const REMOTE = 'remote';

/** Nothing said means this machine; `none` means nothing at all; an address means that machine and not this one. */
export function environmentsFromVariables(variables: ConfigVariables): EnvironmentsConfig {
	refuseNoise(variables);
	const given = URL_VARIABLES.map(name => variables[name]?.trim()).find(value => value);
	if (given === undefined) return {defaultId: 'local', includesLocal: true, remotes: new Map()};
	if (given.toLowerCase() === 'none') return {defaultId: undefined, includesLocal: false, remotes: new Map()};
	const target = targetFromUrl(given, {token: variables[TOKEN_VARIABLE]});
	return {defaultId: REMOTE, includesLocal: false, remotes: new Map([[REMOTE, target]])};
}

/** Somebody who asks for a machine behind a registry must not get this one instead. */
function refuseNoise(variables: ConfigVariables): void {
	const name = Object.keys(variables).find(key => key.startsWith(NOISE_PREFIX) && variables[key]);
	if (name !== undefined)
		throw invalidEnvironment(`${name} is set, but registries are not supported`, {variable: name});
}
