import type * as v from 'valibot';
import {anything, unit} from '../wire/fields.js';
import {
	clientNotification,
	clientRequest,
	type Declaration,
	serverNotification,
	serverRequest,
} from './declare-method.js';
import * as discovery from './discovery.js';
import * as environment from './environment-methods.js';
import {FILE_METHODS} from './file-methods.js';
import {HTTP_METHODS} from './http-methods.js';
import * as network from './network-policy.js';
import {PROCESS_METHODS} from './process-methods.js';
import * as session from './session-methods.js';

export {ACCESS_SCOPES, type AccessScope, type Family, scopeOf} from './declare-method.js';

/**
 * Every method and notification of the wire, once. Types, validation, routing, the handshake errors and
 * `docs/protocol.md` all come from this table.
 */
export const METHODS = {
	initialize: clientRequest({
		family: 'handshake',
		since: 'v0',
		params: session.initializeParams,
		result: session.initializeResult,
		summary: 'Opens a session, or resumes a detached one.',
	}),
	initialized: clientNotification({
		family: 'handshake',
		since: 'v0',
		params: anything,
		summary: 'Ends the handshake; everything else is refused before it.',
	}),

	'environment/info': clientRequest({
		family: 'environment info',
		since: '2026-06',
		params: unit,
		result: environment.environmentInfo,
		summary: 'What the executor is: shell, directories, version, capabilities.',
	}),
	'environment/status': clientRequest({
		family: 'environment status',
		since: '2026-07',
		params: unit,
		result: environment.environmentStatus,
		summary: 'That the executor is there.',
	}),
	'environmentConfig/read': clientRequest({
		family: 'environment config',
		since: '2026-08',
		params: environment.environmentConfigReadParams,
		result: environment.environmentConfigReadResult,
		summary: "Selected keys of the executor's own configuration files.",
	}),
	'capabilityRoots/discoverV1': clientRequest({
		family: 'capability discovery',
		since: '2026-07',
		params: discovery.discoverV1Params,
		result: discovery.discoverV1Result,
		summary: 'Plugins and skills below the given directories.',
	}),
	'capabilities/discoverV2': clientRequest({
		family: 'capability discovery',
		since: '0.166',
		params: discovery.discoverV2Params,
		result: discovery.discoverV2Result,
		summary: "Plugins and skills installed for the executor's user.",
	}),

	...PROCESS_METHODS,
	...FILE_METHODS,
	...HTTP_METHODS,

	'network/policyRequest': serverRequest({
		family: 'network policy',
		since: '2026-08',
		params: network.policyRequestParams,
		result: network.policyRequestResult,
		summary: 'Whether a process may open a connection.',
	}),
	'network/policyDecision': serverNotification({
		family: 'network policy',
		since: '2026-08',
		params: network.policyDecisionParams,
		summary: 'What was decided about a connection.',
	}),
} as const satisfies Record<string, Declaration>;

export type Methods = typeof METHODS;
export type MethodName = keyof Methods;

type Named<Kind extends Declaration['kind'], From extends Declaration['from']> = {
	[M in MethodName]: Methods[M] extends {kind: Kind; from: From} ? M : never;
}[MethodName];

/** Requests a client sends. */
export type RequestName = Named<'request', 'client'>;
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

export function declarationOf(method: string): Declaration | undefined {
	return Object.hasOwn(METHODS, method) ? METHODS[method as MethodName] : undefined;
}
