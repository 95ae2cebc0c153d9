import type {ForwardScope} from '../network/forward/forward-scopes.js';
import type {HttpScope} from '../network/http/http-scopes.js';
import type {Backend} from '../processes/backends/backend.js';
import type {ChildLimits} from '../processes/backends/child-limits.js';
import {MAX_MESSAGE_BYTES} from '../protocol/wire/message-limits.js';
import type {EnforcerChoice} from '../sandbox/enforcer.js';
import type {OptionTable} from '../shared/call-options.js';
import type {Logger} from '../shared/logger.js';
import {STOPPED_PEER_MS} from '../transports/node/peer-times.js';
import type {Audit} from './audit.js';

/** Options of a server. Each has a default: upstream's value where upstream has one. */
export interface ServerOptions {
	/** `v0` serves nothing but the first protocol, as its own server did. */
	readonly protocol?: 'all' | 'v0';
	/** Retention of a session without a connection, with its processes. */
	readonly detachedSessionMs?: number;
	/** The same after a client has left pings unanswered while its machine answers, as that of a stopped program does. */
	readonly stoppedPeerMs?: number;
	/**
	 * Sessions without a connection that are kept for one token, or for all clients without one. Beyond it the oldest
	 * without processes ends; if all have some, no more sessions begin.
	 */
	readonly maxDetachedSessions?: number;
	/** Output kept per process for readers, over all its streams. */
	readonly retainBytes?: number;
	/** Output kept by all processes together. */
	readonly retainBytesTotal?: number;
	/** Chunks kept per process, however small. */
	readonly retainChunks?: number;
	/** Retention of a closed process: it stays readable, and its id stays in use. */
	readonly retainClosedMs?: number;
	/** Processes starting or running at once, in all. */
	readonly maxProcesses?: number;
	/** The same for one session. */
	readonly maxProcessesPerSession?: number;
	/** Allows commands that were not checked by a policy of the caller (`direct`). */
	readonly allowDirectExec?: boolean;
	/** Allows commands that were resolved by the caller's policy (`prepared`). */
	readonly allowPreparedExec?: boolean;
	/** Largest reply, in bytes of JSON text. Upstream's clients disconnect above the default. */
	readonly maxReplyBytes?: number;
	/** Targets clients may open forwarded connections to. */
	readonly allowForward?: ForwardScope;
	/** Targets clients may send HTTP requests to. */
	readonly allowHttp?: HttpScope;
	/**
	 * Names of the variables whose values clients may have sent in headers of HTTP requests. By default those that may start
	 * processes, and so read every variable anyway, may use all but protected ones, and others none.
	 */
	readonly httpVariables?: readonly string[] | undefined;
	/** Resource limits of every child and its descendants; none by default. */
	readonly childLimits?: ChildLimits;
	/** Grace period between the request to end and SIGKILL when the server shuts down. */
	readonly shutdownGraceMs?: number;
	/** Variables for environment policies, headers and proxies; the server's own environment by default. */
	readonly variables?: Readonly<Record<string, string | undefined>>;
	/** Spawn backend, called at every start; the best one this machine supports by default. */
	readonly backend?: () => Backend;
	/**
	 * Command that starts this program, such as `node longarm.js`: sandboxed file operations run in a worker started with
	 * it. Without it they are refused.
	 */
	readonly ownCommand?: readonly string[];
	/** Files and sockets of the server itself, such as those of tokens and keys: no sandbox shows them. */
	readonly hiddenPaths?: readonly string[];
	/** How sandboxes are enforced on Linux; by default the best way that works on this machine. */
	readonly sandboxEnforcer?: EnforcerChoice;
	/** Directory for output that is kept on disk, and for processes that outlive the server; without it there are none. */
	readonly stateDirectory?: string | undefined;
	/**
	 * Name of this server among those that share `stateDirectory`, empty for one without a fixed address: each server uses a
	 * part of its own, the one of its name if there is one. Undefined for a directory that no other server uses.
	 */
	readonly stateSharedAs?: string | undefined;
	/** Whether the server exits with its only client: then it refuses to start processes that are to outlive the client. */
	readonly endsWithClient?: boolean;
	/** Tells clients that they can be connected to the daemon of the user, which the owner of the transport has to do. */
	readonly offersDaemon?: boolean;
	/** Retention of ended processes on disk: time, bytes of all together, number; the oldest go first. */
	readonly stateMaxAgeMs?: number;
	readonly stateMaxBytes?: number;
	readonly stateMaxProcesses?: number;
	readonly logger?: Logger;
	/** Receives logins, starts and refusals. */
	readonly audit?: Audit | undefined;
	/** Tells the arguments of started programs in the audit log, too. */
	readonly auditArguments?: boolean;
	/** Tells clients that the listener serves the web console, too. */
	readonly servesConsole?: boolean;
}

/** Values of server options that are left out. */
export const DEFAULTS = {
	protocol: 'all',
	// The two retention times are those of codex 0.169, whose clients try to resume a session for 45 s.
	detachedSessionMs: 80_000,
	stoppedPeerMs: STOPPED_PEER_MS,
	maxDetachedSessions: 3072,
	retainBytes: 1024 * 1024,
	retainBytesTotal: 256 * 1024 * 1024,
	retainChunks: 50_000,
	retainClosedMs: 80_000,
	maxProcesses: 10_000,
	maxProcessesPerSession: 10_000,
	allowDirectExec: true,
	allowPreparedExec: true,
	maxReplyBytes: MAX_MESSAGE_BYTES,
	allowForward: 'none',
	allowHttp: 'any',
	httpVariables: undefined,
	shutdownGraceMs: 1000,
	childLimits: {},
	ownCommand: [],
	hiddenPaths: [],
	audit: undefined,
	auditArguments: false,
	servesConsole: false,
	sandboxEnforcer: 'auto',
	stateDirectory: undefined,
	stateSharedAs: undefined,
	endsWithClient: false,
	offersDaemon: false,
	stateMaxAgeMs: 7 * 24 * 60 * 60_000,
	stateMaxBytes: 20 * 1024 * 1024 * 1024,
	stateMaxProcesses: 1000,
} as const satisfies ServerOptions;

export type ServerSettings = Required<ServerOptions>;

/** Every option of a server, and its form. */
export const SERVER_OPTIONS: OptionTable<ServerOptions> = {
	protocol: 'text',
	detachedSessionMs: 'duration',
	stoppedPeerMs: 'duration',
	maxDetachedSessions: 'limit',
	retainBytes: 'limit',
	retainBytesTotal: 'limit',
	retainChunks: 'limit',
	retainClosedMs: 'duration',
	maxProcesses: 'limit',
	maxProcessesPerSession: 'limit',
	allowDirectExec: 'flag',
	allowPreparedExec: 'flag',
	maxReplyBytes: 'limit',
	allowForward: 'text',
	allowHttp: 'text',
	httpVariables: 'list',
	childLimits: 'object',
	shutdownGraceMs: 'duration',
	variables: 'object',
	backend: 'function',
	ownCommand: 'list',
	hiddenPaths: 'list',
	sandboxEnforcer: 'any',
	stateDirectory: 'text',
	stateSharedAs: 'text',
	endsWithClient: 'flag',
	offersDaemon: 'flag',
	stateMaxAgeMs: 'duration',
	stateMaxBytes: 'limit',
	stateMaxProcesses: 'limit',
	logger: 'object',
	audit: 'function',
	auditArguments: 'flag',
	servesConsole: 'flag',
};
