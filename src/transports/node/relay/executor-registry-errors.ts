import {STATUS_CODES} from 'node:http';
import {errorMessage} from '../../../shared/errors.js';
import {isUnauthorized, readErrorBody} from './registry-errors.js';

/** Variable of the first versions with the token for a registry. */
export const REMOTE_BEARER_TOKEN_VARIABLE = 'CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN';

/** Members of `ExecutorRegistryHttp`. */
export interface ExecutorRegistryHttpDetails {
	readonly status: number;
	readonly code?: string | undefined;
	readonly message: string;
}

/** The first versions' error for an answer of a registry that is no success. */
export class ExecutorRegistryHttp extends Error {
	override readonly name = 'ExecutorRegistryHttp';
	readonly status: number;
	/** Code in the answer. */
	readonly code: string | undefined;
	/** Message in the answer, without the status. */
	readonly reason: string;

	constructor({status, code, message}: ExecutorRegistryHttpDetails) {
		const coded = code === undefined ? nameStatus(status) : `${nameStatus(status)}, ${code}`;
		super(`executor registry request failed (${coded}): ${message}`);
		this.status = status;
		this.code = code;
		this.reason = message;
	}
}

/** The first versions' error for settings without which nothing is asked. */
export class ExecutorRegistryConfig extends Error {
	override readonly name = 'ExecutorRegistryConfig';

	constructor(problem: string) {
		super(`executor registry configuration error: ${problem}`);
	}
}

/** The first versions' error for a token that is missing or refused. */
export class ExecutorRegistryAuth extends Error {
	override readonly name = 'ExecutorRegistryAuth';

	constructor(problem: string) {
		super(`executor registry authentication error: ${problem}`);
	}
}

/** The first versions' error for a request that got no answer. */
export class ExecutorRegistryRequest extends Error {
	override readonly name = 'ExecutorRegistryRequest';

	constructor(cause: unknown) {
		super(`executor registry request failed: ${errorMessage(cause)}`, {cause});
	}
}

/** The error of an answer, from its status and body. */
export function executorRegistryError(status: number, body: string): ExecutorRegistryHttp | ExecutorRegistryAuth {
	const {code, message} = readErrorBody(body);
	if (isUnauthorized(status)) {
		const told = message || 'empty error body';
		return new ExecutorRegistryAuth(`executor registry authentication failed (${nameStatus(status)}): ${told}`);
	}
	return new ExecutorRegistryHttp({status, code, message: message || 'empty or malformed error body'});
}

/** Settings of a registration, trimmed; throws an `ExecutorRegistryConfig` for those that are missing. */
export function requireExecutorRegistry(url: string, executorId: string): {readonly url: string; readonly id: string} {
	const base = url.trim().replace(/\/+$/, '');
	if (base === '') throw new ExecutorRegistryConfig('executor registry base URL is required');
	const id = executorId.trim();
	if (id === '') throw new ExecutorRegistryConfig('executor id is required for remote exec-server registration');
	return {url: base, id};
}

/** The token of the first versions' variable; throws an `ExecutorRegistryAuth` where there is none. */
export function requireExecutorRegistryToken(variables: Readonly<Record<string, string | undefined>>): string {
	const value = variables[REMOTE_BEARER_TOKEN_VARIABLE];
	const fault = value === undefined ? 'not set' : 'empty';
	const token = value?.trim();
	if (token) return token;
	throw new ExecutorRegistryAuth(
		`executor registry bearer token environment variable \`${REMOTE_BEARER_TOKEN_VARIABLE}\` is ${fault}`,
	);
}

function nameStatus(status: number): string {
	return `${status} ${STATUS_CODES[status] ?? ''}`.trim();
}
