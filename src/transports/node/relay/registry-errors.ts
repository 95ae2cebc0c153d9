import {STATUS_CODES} from 'node:http';
import {hintOfTlsError} from '../tls-trust.js';

/** Characters of an error body that are told. */
const MAX_PREVIEW_CHARS = 4096;
const UNAUTHORIZED: ReadonlySet<number> = new Set([401, 403]);
/** Answers after which asking again may help. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429]);
export const OMITTED_BODY = 'response body omitted';
const OFFLINE = 'environment_offline';
/** Codes that are told although the body is not: any other could echo a secret, too. */
const HARMLESS_CODES: ReadonlySet<string> = new Set(['registration_conflict', 'authentication_service_unavailable']);
/** Causes of an error that are asked for advice. */
const MAX_CAUSES = 4;
const TOKEN_HINT = 'The hub wants a token that is good for this environment: longarm hub token create.';
const OFFLINE_HINT = 'The machine is not connected to the hub: start longarm serve --remote there.';

/** The registry was given wrong settings, or none. */
export class RegistryConfigError extends Error {
	override readonly name = 'RegistryConfigError';

	constructor(problem: string) {
		super(`environment registry configuration error: ${problem}`);
	}
}

/** No registry can be meant by a text, in upstream's words. */
export class RegistryUrlError extends Error {
	override readonly name = 'RegistryUrlError';
	readonly hint = 'The address of a hub is like https://hub.example or http://127.0.0.1:8700.';

	constructor(problem = 'relative URL without a base') {
		super(`invalid remote exec-server registration URL: ${problem}`);
	}
}

/** The registry has refused a request, or could not be asked. */
export class RegistryError extends Error {
	override readonly name = 'RegistryError';
	/** Undefined if there was no answer. */
	readonly status: number | undefined;
	/** Code in the answer. */
	readonly code: string | undefined;
	/** Advice for people. */
	readonly hint: string | undefined;

	constructor(message: string, {status, code, ...options}: ErrorOptions & {status?: number; code?: string} = {}) {
		super(message, options);
		this.status = status;
		this.code = code;
		this.hint = hintOf(status, code) ?? hintOfCause(options.cause);
	}

	/** Whether asking again cannot help. */
	get isFinal(): boolean {
		return !this.isPassing;
	}

	/** Whether the same request may succeed later. */
	get isPassing(): boolean {
		const {status} = this;
		// A certificate that is not trusted will not be the next time.
		if (status === undefined) return hintOfCause(this.cause) === undefined;
		if (status >= 500 || PASSING_STATUSES.has(status)) return true;
		return status === 409 && this.code === OFFLINE;
	}
}

/** Whether a status says that the token is not good. */
export function isUnauthorized(status: number): boolean {
	return UNAUTHORIZED.has(status);
}

/** The error of an answer that is no success, in upstream's words. `instead` is told in place of a body that could echo a secret. */
export function refusedByRegistry(status: number, body: string, instead?: string): RegistryError {
	const {code, message} = readErrorBody(body);
	const name = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
	if (UNAUTHORIZED.has(status)) {
		const told = instead === undefined ? message || 'empty error body' : OMITTED_BODY;
		const text = `environment registry authentication error: environment registry authentication failed (${name}): ${told}`;
		return new RegistryError(text, {status, ...(code !== undefined && {code})});
	}
	const isTold = code !== undefined && (instead === undefined || HARMLESS_CODES.has(code));
	const coded = isTold ? `${name}, ${code}` : name;
	const told = instead ?? (message || 'empty or malformed error body');
	return new RegistryError(`environment registry request failed (${coded}): ${told}`, {
		status,
		...(code !== undefined && {code}),
	});
}

/** An answer without a member that is needed; upstream tells the place where the object ends, too. */
export function missingFieldError(name: string, text: string): RegistryAnswerError {
	const lines = text.trimEnd().split('\n');
	const column = Buffer.byteLength(lines.at(-1)!);
	return jsonError(`missing field \`${name}\` at line ${lines.length} column ${column}`);
}

/** An answer that cannot be read, in upstream's words. Asking again would not help. */
export function jsonError(problem: string, cause?: unknown): RegistryAnswerError {
	return new RegistryAnswerError(`failed to serialize or deserialize exec-server JSON: ${problem}`, {cause});
}

/** The registry has answered against the protocol. */
export class RegistryAnswerError extends Error {
	override readonly name = 'RegistryAnswerError';
	readonly isFinal = true;
}

function hintOf(status: number | undefined, code: string | undefined): string | undefined {
	if (status !== undefined && UNAUTHORIZED.has(status)) return TOKEN_HINT;
	return code === OFFLINE ? OFFLINE_HINT : undefined;
}

function hintOfCause(cause: unknown): string | undefined {
	let each = cause;
	for (let depth = 0; depth < MAX_CAUSES && each instanceof Error; depth++) {
		const hint = hintOfTlsError(each);
		if (hint !== undefined) return hint;
		each = each.cause;
	}
	return undefined;
}

/** Code and message of an error answer; the body itself where it has no message. */
export function readErrorBody(body: string): {readonly code: string | undefined; readonly message: string} {
	const preview = body.trim().slice(0, MAX_PREVIEW_CHARS);
	let parsed: unknown;
	try {
		parsed = JSON.parse(body);
	} catch {
		return {code: undefined, message: preview};
	}
	const error = (parsed as {error?: unknown} | null)?.error;
	if (typeof error !== 'object' || error === null) return {code: undefined, message: preview};
	const {code, message} = error as {code?: unknown; message?: unknown};
	return {
		code: typeof code === 'string' ? code : undefined,
		message: typeof message === 'string' ? message.slice(0, MAX_PREVIEW_CHARS) : '',
	};
}
