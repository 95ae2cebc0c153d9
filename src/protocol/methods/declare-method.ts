import {empty, type Schema} from '../wire/fields.js';

/** Protocol version of upstream in which a method first appeared. */
export type Since = 'v0' | 'v1' | '2026-06' | '2026-07' | '2026-08' | '0.166' | 'longarm';

/** Group of methods, as named in errors about a missing handshake; `handshake` methods need none. */
export type Family =
	| 'handshake'
	| 'exec'
	| 'filesystem'
	| 'http'
	| 'environment info'
	| 'environment status'
	| 'environment config'
	| 'environment upgrade'
	| 'capability discovery'
	| 'network policy';

/** Scopes of a token: `drive` starts and controls processes and includes `observe`. */
export const ACCESS_SCOPES = ['observe', 'drive', 'files', 'http'] as const;
/** Group of methods that a token allows. */
export type AccessScope = (typeof ACCESS_SCOPES)[number];

/** Scope that a family's methods need by default; configuration and discovery are read from files. */
const FAMILY_SCOPES: Record<Family, AccessScope | undefined> = {
	handshake: undefined,
	exec: 'drive',
	filesystem: 'files',
	http: 'http',
	'environment info': 'observe',
	'environment status': 'observe',
	'environment config': 'files',
	'environment upgrade': 'drive',
	'capability discovery': 'files',
	'network policy': 'drive',
};

/** Flags of `environment/info` for members of params and results; those of whole methods stand in their rows. */
export type Capabilities = Readonly<Record<string, boolean>>;

/** One row of the table of methods. */
export interface Declaration {
	readonly kind: 'request' | 'notification';
	/** The sender. */
	readonly from: 'client' | 'server';
	readonly family: Family;
	/** Scope the caller's token must have; by default that of the family. */
	readonly scope?: AccessScope;
	readonly since: Since;
	/** Member of `environment/info` that announces the method; methods of upstream's first protocols need none. */
	readonly capability?: string;
	/** Set for requests of upstream that this server does not answer yet; every other request needs a handler. */
	readonly unserved?: true;
	readonly params: Schema;
	readonly result: Schema;
	readonly summary: string;
}

type Details = Omit<Declaration, 'kind' | 'from' | 'result'>;

export const clientRequest = <const D extends Details & {result: Schema}>(details: D) =>
	({kind: 'request', from: 'client', ...details}) as const;
export const serverRequest = <const D extends Details & {result: Schema}>(details: D) =>
	({kind: 'request', from: 'server', ...details}) as const;
export const clientNotification = <const D extends Details>(details: D) =>
	({kind: 'notification', from: 'client', result: empty, ...details}) as const;
export const serverNotification = <const D extends Details>(details: D) =>
	({kind: 'notification', from: 'server', result: empty, ...details}) as const;

/** Scope the caller's token must have; undefined when any will do. */
export function requiredScope({family, scope}: Pick<Declaration, 'family' | 'scope'>): AccessScope | undefined {
	return scope ?? FAMILY_SCOPES[family];
}
