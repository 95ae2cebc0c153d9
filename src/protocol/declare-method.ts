import {empty, type Schema} from './fields.js';

/** The protocol of the peer in which a method first appeared. */
export type Since = 'v0' | 'v1' | '2026-06' | '2026-07' | '2026-08' | '0.166' | 'longarm';

/** How a method's group is called in the errors about the handshake; `handshake` methods need none. */
export type Family =
	| 'handshake'
	| 'exec'
	| 'filesystem'
	| 'http'
	| 'environment info'
	| 'environment status'
	| 'environment config'
	| 'capability discovery'
	| 'network policy';

/** One row of the table of methods. */
export interface Declaration {
	readonly kind: 'request' | 'notification';
	/** Who sends it. */
	readonly from: 'client' | 'server';
	readonly family: Family;
	readonly since: Since;
	readonly params: Schema;
	readonly result: Schema;
	readonly summary: string;
}

type Details = Omit<Declaration, 'kind' | 'from' | 'result'>;

export const call = <const D extends Details & {result: Schema}>(details: D) =>
	({kind: 'request', from: 'client', ...details}) as const;
export const ask = <const D extends Details & {result: Schema}>(details: D) =>
	({kind: 'request', from: 'server', ...details}) as const;
export const tell = <const D extends Details>(details: D) =>
	({kind: 'notification', from: 'client', result: empty, ...details}) as const;
export const report = <const D extends Details>(details: D) =>
	({kind: 'notification', from: 'server', result: empty, ...details}) as const;
