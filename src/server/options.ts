import type {Backend} from '../processes/backend.js';
import {type Logger, silentLogger} from '../shared/logger.js';

/** What can be set about a server. Every member has a default, the peer's own value where it has one. */
export interface ServerOptions {
	/** How long a session without a connection is kept, with its processes. */
	readonly detachedSessionMs?: number;
	/** Output kept per process for readers, over all its streams. */
	readonly retainBytes?: number;
	/** Chunks kept per process, however small. */
	readonly retainChunks?: number;
	/** How long a closed process stays readable and its id taken. */
	readonly retainClosedMs?: number;
	/** How long processes may take to end by themselves when the server ends. */
	readonly shutdownGraceMs?: number;
	/** The variables environment policies inherit from; the server's own by default. */
	readonly variables?: Readonly<Record<string, string | undefined>>;
	/** How children are started; the best way this machine offers by default. */
	readonly backend?: Backend;
	readonly logger?: Logger;
}

export const DEFAULTS = {
	detachedSessionMs: 30_000,
	retainBytes: 1024 * 1024,
	retainChunks: 50_000,
	retainClosedMs: 30_000,
	shutdownGraceMs: 1000,
} as const satisfies ServerOptions;

export type ServerSettings = Required<Omit<ServerOptions, 'backend'>> & Pick<ServerOptions, 'backend'>;

export function withDefaults(options: ServerOptions): ServerSettings {
	return {variables: process.env, logger: silentLogger, ...DEFAULTS, ...options};
}
