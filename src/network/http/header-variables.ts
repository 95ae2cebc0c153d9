import {PROTECTED_VARIABLES} from '../../shared/protected-variables.js';
import {invalidRequestError} from '../network-failures.js';
import type {GivenHeader, HttpVariables} from './http-request.js';

/** Credentials of the user who runs the executor, never sent on behalf of a client. */
const DENIED_VARIABLES = new Set([
	...PROTECTED_VARIABLES,
	'OPENAI_API_KEY',
	'CODEX_API_KEY',
	'CODEX_ACCESS_TOKEN',
	'CODEX_CONNECTORS_TOKEN',
	'AWS_ACCESS_KEY_ID',
	'AWS_SECRET_ACCESS_KEY',
	'AWS_SESSION_TOKEN',
	'AZURE_CLIENT_SECRET',
	'AZURE_FEDERATED_TOKEN_FILE',
	'GOOGLE_APPLICATION_CREDENTIALS',
]);
// Withheld from child processes, but meant to be sent in a header.
DENIED_VARIABLES.delete('NODE_REPL_AUTH_TOKEN');

/** Whether a variable is never sent, whatever the settings say. */
export function isDeniedVariable(name: string): boolean {
	return DENIED_VARIABLES.has(name.toUpperCase());
}

/**
 * Value of a header, with the executor's environment variable appended if one is named. Only those in `allowed` are sent;
 * all but protected ones if that is undefined, for a caller who can read them anyway.
 */
export function resolveHeaderValue(
	{name, value, valueEnvVar}: GivenHeader,
	variables: HttpVariables,
	allowed?: readonly string[],
): string {
	if (valueEnvVar === null || valueEnvVar === undefined) return value;
	const refusal = `header ${name} cannot use executor environment variable ${valueEnvVar}`;
	if (isDeniedVariable(valueEnvVar)) throw invalidRequestError(refusal);
	if (allowed && !allowed.includes(valueEnvVar)) {
		throw invalidRequestError(`${refusal}: it is not among those that --http-env of the server names`);
	}
	const secret = Object.hasOwn(variables, valueEnvVar) ? variables[valueEnvVar] : undefined;
	if (secret === undefined)
		throw invalidRequestError(`header ${name} requires executor environment variable ${valueEnvVar}`);
	if (secret === '') {
		throw invalidRequestError(`header ${name} requires a non-empty executor environment variable ${valueEnvVar}`);
	}
	return value + secret;
}
