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

/** Value of a header, with the executor's environment variable appended if one is named. */
export function resolveHeaderValue({name, value, valueEnvVar}: GivenHeader, variables: HttpVariables): string {
	if (valueEnvVar === null || valueEnvVar === undefined) return value;
	if (DENIED_VARIABLES.has(valueEnvVar.toUpperCase())) {
		throw invalidRequestError(`header ${name} cannot use executor environment variable ${valueEnvVar}`);
	}
	const secret = Object.hasOwn(variables, valueEnvVar) ? variables[valueEnvVar] : undefined;
	if (secret === undefined)
		throw invalidRequestError(`header ${name} requires executor environment variable ${valueEnvVar}`);
	if (secret === '') {
		throw invalidRequestError(`header ${name} requires a non-empty executor environment variable ${valueEnvVar}`);
	}
	return value + secret;
}
