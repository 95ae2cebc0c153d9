import type {ForwardScope} from '../network/forward/forward-scopes.js';
import type {Backend} from '../processes/backends/backend.js';
import type {ChildLimits} from '../processes/backends/child-limits.js';
import {MAX_MESSAGE_BYTES} from '../protocol/wire/message-limits.js';
import type {Logger} from '../shared/logger.js';

/** What can be set about a server. Every member has a default, the peer's own value where it has one. */
export interface ServerOptions {
	/** `v0` serves nothing but the first protocol, as its own server did. */
	readonly protocol?: 'all' | 'v0';
	/** How long a session without a connection is kept, with its processes. */
	readonly detachedSessionMs?: number;
	/** Output kept per process for readers, over all its streams. */
	readonly retainBytes?: number;
	/** Output kept by all processes together. */
	readonly retainBytesTotal?: number;
	/** Chunks kept per process, however small. */
	readonly retainChunks?: number;
	/** How long a closed process stays readable and its id taken. */
	readonly retainClosedMs?: number;
	/** Processes starting or running at once, in all. */
	readonly maxProcesses?: number;
	/** The same for one session. */
	readonly maxProcessesPerSession?: number;
	/** Whether commands may be started that no policy of the caller has looked at. */
	readonly allowDirectExec?: boolean;
	/** Whether commands may be started that the caller's policy has resolved already. */
	readonly allowPreparedExec?: boolean;
	/** Largest reply, in bytes of JSON text. The peer's own clients hang up on more than the default. */
	readonly maxReplyBytes?: number;
	/** Where clients may have connections forwarded to. */
	readonly allowForward?: ForwardScope;
	/** What every child, and whatever it starts, is held to; nothing by default. */
	readonly childLimits?: ChildLimits;
	/** How long processes may take to end by themselves when the server ends. */
	readonly shutdownGraceMs?: number;
	/** What environment policies inherit from, and headers and proxies take; the server's own by default. */
	readonly variables?: Readonly<Record<string, string | undefined>>;
	/** How children are started, asked for at every start; the best way this machine offers by default. */
	readonly backend?: () => Backend;
	/**
	 * How a program like this one is started, such as `node longarm.js`: file operations in a sandbox are done by another
	 * one inside. Without it they are refused.
	 */
	readonly ownCommand?: readonly string[];
	readonly logger?: Logger;
}

export const DEFAULTS = {
	protocol: 'all',
	detachedSessionMs: 30_000,
	retainBytes: 1024 * 1024,
	retainBytesTotal: 256 * 1024 * 1024,
	retainChunks: 50_000,
	retainClosedMs: 30_000,
	maxProcesses: 10_000,
	maxProcessesPerSession: 10_000,
	allowDirectExec: true,
	allowPreparedExec: true,
	maxReplyBytes: MAX_MESSAGE_BYTES,
	allowForward: 'none',
	shutdownGraceMs: 1000,
	childLimits: {},
	ownCommand: [],
} as const satisfies ServerOptions;

export type ServerSettings = Required<ServerOptions>;
