import type {ManagedProcess} from '../../processes/managed-process.js';
import {
	ACCESS_SCOPES,
	type AccessScope,
	findDeclaration,
	type RequestName,
	requiredScope,
} from '../../protocol/methods/method-table.js';
import {LongarmError} from '../../shared/errors.js';

/** Quotas shared by all holders of one token; a missing one is bounded by the server's own settings only. */
export interface GrantLimits {
	readonly maxProcesses?: number | undefined;
	readonly maxConnections?: number | undefined;
	readonly maxRetainedBytes?: number | undefined;
}

/**
 * Permissions of a connection. Sessions and limits belong to the name. It holds no secret and may be logged.
 */
export interface Grant {
	readonly name: string;
	/** All scopes if left out. */
	readonly scopes?: readonly AccessScope[] | undefined;
	readonly limits?: GrantLimits | undefined;
	/** The one process it is good for, if it was handed out for one. */
	readonly process?: ManagedProcess | undefined;
	/** Monotonic time at which its connections end; undefined for a token that is judged only when a client connects. */
	readonly expiresAt?: number | undefined;
	/** Token that it was made of, or that made the token it was made of; undefined if that is not known. */
	readonly source?: GrantSource | undefined;
}

/** A token as far as the end of what it has made depends on it. It holds no secret. */
export interface GrantSource {
	/** Name of the token. */
	readonly owner: string;
	/** Digest of the token, or of the secret that has signed it. */
	readonly digest: string;
	/** Time at which it expires, in milliseconds since 1970; undefined for one that does not. */
	readonly expiresAtMs?: number | undefined;
}

/** The grant of a token that is known by its name only; undefined without tokens. */
export function grantOf(name: string | undefined): Grant | undefined {
	return name === undefined ? undefined : {name};
}

export function isAccessScope(text: string): text is AccessScope {
	return (ACCESS_SCOPES as readonly string[]).includes(text);
}

/** Without a grant everything is allowed: the embedding program has admitted the connection itself. */
export function allows(grant: Grant | undefined, scope: AccessScope): boolean {
	const scopes = grant?.scopes;
	return scopes === undefined || scopes.includes(scope) || (scope === 'observe' && scopes.includes('drive'));
}

/** Refuses a method that needs a scope the grant lacks. */
export function requireScope(grant: Grant | undefined, method: string): void {
	if (grant?.scopes === undefined && grant?.process === undefined) return;
	const declaration = findDeclaration(method);
	const scope = declaration && requiredScope(declaration);
	if (grant?.process !== undefined) requireSharedMethod(method);
	if (scope === undefined || allows(grant, scope)) return;
	throw new LongarmError('SCOPE_MISSING', {
		message: `${method} needs the scope ${scope}, which this connection does not have`,
		context: {method, scope},
	});
}

/** Methods that a token for one process is good for; each of them looks at which process it is. */
const SHARED_METHODS: ReadonlySet<string> = new Set<RequestName>([
	'initialize',
	'environment/info',
	'environment/status',
	'process/attach',
	'process/detach',
	'process/list',
	'process/read',
	'process/write',
	'process/closeStdin',
	'process/resize',
	'process/signal',
	'process/wait',
	'process/waitFor',
	'process/snapshot',
	'process/screen',
	'process/logs',
]);

/** An allow-list: a method that is added later is refused until somebody has thought about it. */
function requireSharedMethod(method: string): void {
	if (SHARED_METHODS.has(method)) return;
	throw new LongarmError('SCOPE_MISSING', {
		message: `${method} is not for a token that was handed out for one process`,
		context: {method},
	});
}

/**
 * Key that waiting requests, searches and detached sessions are counted by; undefined without a token. Holders of one name
 * with other scopes count apart: a token that may only look must not use up what its owner needs.
 */
export function accountOf(grant: Grant | undefined): string | undefined {
	return grant && JSON.stringify([grant.name, grant.scopes ? [...new Set(grant.scopes)].sort() : 'all']);
}

/**
 * A session is resumed by its own name only, and with the scopes it was opened with: it has one connection at a time, so a
 * weaker token would lock its owner out. Tokens for one process share a name with those for another: their sessions are
 * apart. `drive` stands for all scopes, since a process can do whatever they allow. If
 * there are processes `observe` is needed in any case: their output is sent without a request.
 */
export function mayResume(owner: Grant | undefined, caller: Grant | undefined, hasProcesses: boolean): boolean {
	if (owner?.name !== caller?.name || owner?.process !== caller?.process) return false;
	if (hasProcesses && !allows(caller, 'observe')) return false;
	return allows(caller, 'drive') || ACCESS_SCOPES.every(scope => !allows(owner, scope) || allows(caller, scope));
}
