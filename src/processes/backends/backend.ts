import {constants} from 'node:os';
import {LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {osErrorName, osErrorText} from '../../shared/node/os-error.js';
import type {OutputStream} from '../output/output-log.js';
import type {ChildLimits} from './child-limits.js';

/** Fully resolved request to spawn one program: no lookups and no defaults are left to the backend. */
export interface SpawnRequest {
	/** The file to execute; a relative path is relative to `cwd`. */
	readonly file: string;
	/** Arguments as the program sees them, its own name first. */
	readonly argv: readonly string[];
	/** Raw bytes: a path need not be UTF-8. */
	readonly cwd: Uint8Array;
	readonly environment: ReadonlyMap<string, string>;
	readonly io: {readonly kind: 'pipes'; readonly stdin: boolean} | ({readonly kind: 'pty'} & TerminalSize);
	/** Resource limits of the child and its descendants. */
	readonly limits?: ChildLimits | undefined;
	/** Set when `file` is a wrapper that starts the requested program. */
	readonly wrapper?: Wrapper | undefined;
}

/** A program that starts the requested one in an environment it sets up, such as a sandbox. */
export interface Wrapper {
	/** Contents the wrapper expects to read from file descriptor 3 and on. */
	readonly descriptors: readonly Uint8Array[];
	/** The first of these contents is the wrapper itself, and `file` names its descriptor. */
	readonly isInMemory?: boolean | undefined;
	/**
	 * The program is the leader of its own session below the wrapper: the second process of a new PID namespace, or the
	 * first child of the wrapper.
	 * Signals go to its process group, and the controlling terminal is left to its session.
	 */
	readonly hasOwnSession: boolean;
}

/** Exit status as the kernel reports it. */
export interface KernelExit {
	/** Its own code, or 128 + n after signal n. */
	readonly exitCode: number;
	readonly isSignaled: boolean;
}

export interface TerminalSize {
	readonly columns: number;
	readonly rows: number;
}

/** Events of a child, always asynchronous to `spawn`. */
export interface ChildEvents {
	output(stream: OutputStream, bytes: Uint8Array): void;
	/** End of a stream: every writer has closed it. Once per stream. */
	streamEnded(stream: OutputStream): void;
	/** The process has exited. Once. */
	exited(end: KernelExit): void;
}

/** The writing end of a child's standard input. */
export interface StdinWriter {
	/** Queues the whole chunk, in order; `done` is called when it was written or can never be. */
	write(bytes: Uint8Array, done: () => void): void;
	/** End of input after what is queued: closes a pipe, types the end-of-file character on a terminal. */
	end(): void;
	/** Drops what is queued and closes; queued chunks count as done. */
	destroy(): void;
}

export interface Child {
	readonly pid: number;
	/** Tag inherited by all descendants, where the backend can set one. */
	readonly tag: string | undefined;
	/** `performance.now()` when it was spawned; only where there are tags. */
	readonly spawnedAt?: number;
	readonly streams: readonly OutputStream[];
	readonly stdin: StdinWriter | undefined;
	/** Back-pressure: stops reading, so that the child blocks once its pipe is full. */
	pause(): void;
	resume(): void;
	/** Reads what the kernel holds, then closes the streams; `streamEnded` follows for each that was open. */
	drainAndClose(): void;
	/** Signals the process group. A process that is gone is no error. */
	signal(name: NodeJS.Signals): void;
	/** Undefined without a terminal. */
	readonly resize: ((size: TerminalSize) => void) | undefined;
}

export interface SubreaperOptions {
	/** Told when the watchdog had to be replaced. */
	readonly logger: Logger;
	/** Control group that holds all children already; without one a group is made where that is possible. */
	readonly groupPath?: string | undefined;
}

/** Spawns children. Throws, or rejects with, a `spawnError` when the system refuses. */
export interface Backend {
	readonly name: string;
	/**
	 * Makes this process the child subreaper of all its descendants and starts a watchdog, so that none outlives it even if
	 * it is killed. Only for a program that starts its children through this backend alone. Absent where not supported.
	 */
	becomeSubreaper?(options: SubreaperOptions): void;
	spawn(request: SpawnRequest, events: ChildEvents): Child | Promise<Child>;
}

const {EMFILE, ENFILE, EAGAIN, ENOMEM} = constants.errno;
/** Errors of exhausted resources: the same spawn may succeed later. */
const EXHAUSTED_ERRNOS: ReadonlySet<number> = new Set([EMFILE, ENFILE, EAGAIN, ENOMEM]);

/** The operating system refused to start `program`. */
export function spawnError(errno: number, program: string): LongarmError {
	const code = EXHAUSTED_ERRNOS.has(Math.abs(errno)) ? 'RESOURCES_EXHAUSTED' : 'SPAWN_FAILED';
	return new LongarmError(code, {message: osErrorText(errno), context: {program, error: osErrorName(errno)}});
}
