import type * as v from 'valibot';
import type {Declaration} from './declare-method.js';
import {DISCOVERY_CAPABILITIES, DISCOVERY_METHODS} from './discovery.js';
import {ENVIRONMENT_METHODS} from './environment-methods.js';
import {FILE_CAPABILITIES, FILE_METHODS} from './file-methods.js';
import {HTTP_CAPABILITIES, HTTP_METHODS} from './http-methods.js';
import {NETWORK_CAPABILITIES, NETWORK_METHODS} from './network-policy.js';
import {PROCESS_CAPABILITIES, PROCESS_METHODS} from './process-methods.js';
import {SESSION_METHODS} from './session-methods.js';
import {SHARED_PROCESS_METHODS} from './shared-process-methods.js';
import {TREE_METHODS} from './tree-methods.js';
import {V0_METHODS} from './v0-methods.js';

export {ACCESS_SCOPES, type AccessScope, type Family, requiredScope} from './declare-method.js';

/**
 * Every method and notification of the wire, once. Types, validation, routing, capabilities, the handshake errors and
 * `docs/protocol.md` all come from this table.
 */
export const METHODS = {
	...SESSION_METHODS,
	...ENVIRONMENT_METHODS,
	...DISCOVERY_METHODS,
	...PROCESS_METHODS,
	...SHARED_PROCESS_METHODS,
	...V0_METHODS,
	...FILE_METHODS,
	...TREE_METHODS,
	...HTTP_METHODS,
	...NETWORK_METHODS,
} as const satisfies Record<string, Declaration>;

export type Methods = typeof METHODS;
/** Name of a request or notification. */
export type MethodName = keyof Methods;

type Named<Kind extends Declaration['kind'], From extends Declaration['from']> = {
	[M in MethodName]: Methods[M] extends {kind: Kind; from: From} ? M : never;
}[MethodName];

/** Requests a client sends. */
export type RequestName = Named<'request', 'client'>;
/** Requests a client sends that the server answers: each needs a handler. */
export type ServedName = {[M in RequestName]: Methods[M] extends {unserved: true} ? never : M}[RequestName];
/** Requests a server sends. */
export type ServerRequestName = Named<'request', 'server'>;
/** Notifications a server sends. */
export type NotificationName = Named<'notification', 'server'>;

/** Params as the receiver sees them: decoded, with defaults. */
export type Params<M extends MethodName> = v.InferOutput<Methods[M]['params']>;
/** Params as the sender writes them. */
export type ParamsOnWire<M extends MethodName> = v.InferInput<Methods[M]['params']>;
/** Result as the receiver sees it. */
export type Result<M extends MethodName> = v.InferOutput<Methods[M]['result']>;
/** Result as the sender writes it. */
export type ResultOnWire<M extends MethodName> = v.InferInput<Methods[M]['result']>;

export function findDeclaration(method: string): Declaration | undefined {
	return Object.hasOwn(METHODS, method) ? METHODS[method as MethodName] : undefined;
}

/** Flags announced by `environment/info`; the flag of a method is true when it is served. */
export function listCapabilities(): Record<string, boolean> {
	const rows: Declaration[] = Object.values(METHODS);
	return {
		...Object.fromEntries(rows.flatMap(({capability, unserved}) => (capability ? [[capability, !unserved]] : []))),
		...DISCOVERY_CAPABILITIES,
		...PROCESS_CAPABILITIES,
		...FILE_CAPABILITIES,
		...HTTP_CAPABILITIES,
		...NETWORK_CAPABILITIES,
	};
}
