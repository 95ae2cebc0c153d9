import {existsSync} from 'node:fs';
import {join} from 'node:path';
import type {EnvironmentProvider} from '../environment-provider.js';
import {ENVIRONMENTS_FILE, homeOf} from './config-home.js';

/** Loaded at every start of the command line, so it imports as little as possible. */

/** Names the default environment of the command line, before everything else. */
export const ENVIRONMENT_VARIABLE = 'LONGARM_ENVIRONMENT';
/** The same with an address. Our own variable first; upstream's name for programs that come from there. */
export const URL_VARIABLES = ['LONGARM_EXEC_SERVER_URL', 'CODEX_EXEC_SERVER_URL'] as const;
/** Upstream's variables for a machine behind a registry. */
export const NOISE_VARIABLES = {
	registryUrl: 'CODEX_EXEC_SERVER_NOISE_REGISTRY_URL',
	environmentId: 'CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID',
	authToken: 'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
	accountId: 'CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID',
} as const;

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment that is used where none is given. */
export interface DefaultChoice {
	/** A name, an address, or `local`; undefined when there shall be none. */
	readonly name: string | undefined;
	/** The variable or the file that says so; undefined if nothing does. */
	readonly reason: string | undefined;
}

/** Whether anything could say that the default is not this machine. */
export function mayHaveDefault(variables: Variables): boolean {
	const isNamed = [ENVIRONMENT_VARIABLE, ...URL_VARIABLES].some(name => variables[name]?.trim());
	if (findNoiseVariable(variables) !== undefined) return true;
	return isNamed || existsSync(join(homeOf(variables), ENVIRONMENTS_FILE));
}

/** A variable of a machine behind a registry that is set. */
function findNoiseVariable(variables: Variables): string | undefined {
	const {registryUrl, environmentId, authToken} = NOISE_VARIABLES;
	return [registryUrl, environmentId, authToken].find(name => variables[name]?.trim());
}

/**
 * The first that says something: `LONGARM_ENVIRONMENT`, upstream's variables of a registry, the address variables, the provider, which people know by
 * `source`; else this machine.
 */
export async function chooseDefault(
	variables: Variables,
	provider: EnvironmentProvider,
	source?: string,
): Promise<DefaultChoice> {
	const noise = findNoiseVariable(variables);
	for (const reason of [ENVIRONMENT_VARIABLE, ...(noise === undefined ? URL_VARIABLES : [])]) {
		const name = variables[reason]?.trim();
		if (name) return {name: name.toLowerCase() === 'none' ? undefined : name, reason};
	}
	const snapshot = await provider.snapshot();
	if (!snapshot) return {name: 'local', reason: undefined};
	if (noise !== undefined && source !== undefined) return {name: snapshot.defaultId, reason: noise};
	const {defaultId: name} = snapshot;
	return {name, reason: name === 'local' ? undefined : source};
}
