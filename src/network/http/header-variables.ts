import {PROTECTED_VARIABLES} from '../../shared/protected-variables.js';
import {invalidRequest} from '../network-failures.js';
import type {GivenHeader, HttpVariables} from './http-request.js';

/** Credentials that whoever runs the executor has for purposes of their own. */
const DENIED = new Set([
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
// No child sees it, but it is there to be sent.
DENIED.delete('NODE_REPL_AUTH_TOKEN');

/** The whole value of a header, with the variable it takes from the executor, if it does. */
export function headerValue({name, value, valueEnvVar}: GivenHeader, variables: HttpVariables): string {
	if (valueEnvVar === null || valueEnvVar === undefined) return value;
	if (DENIED.has(valueEnvVar.toUpperCase())) {
		throw invalidRequest(`header ${name} cannot use executor environment variable ${valueEnvVar}`);
	}
	const held = Object.hasOwn(variables, valueEnvVar) ? variables[valueEnvVar] : undefined;
	if (held === undefined) throw invalidRequest(`header ${name} requires executor environment variable ${valueEnvVar}`);
	if (held === '') {
		throw invalidRequest(`header ${name} requires a non-empty executor environment variable ${valueEnvVar}`);
	}
	return value + held;
}
