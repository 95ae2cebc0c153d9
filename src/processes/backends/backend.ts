import {constants} from 'node:os';
import {LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {osErrorName, osErrorText} from '../../shared/node/os-error.js';
import type {Exit, OutputStream} from '../output/output-log.js';
import type {TerminationMode} from '../termination.js';
import type {ProcessInfo} from '../tree/process-tree.js';
import type {ChildLimits} from './child-limits.js';

/**
 * Descriptor at which a program finds its `inherited` content: above those of wrappers and launchers, and the highest that
 * every shell can name.
 */
export const INHERITED_DESCRIPTOR = 9;

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
	/** Content that the program can read from `INHERITED_DESCRIPTOR`; only for a backend with `passesContent`. */
	readonly inherited?: Uint8Array | undefined;
}

/** A program that starts the requested one in an environment it sets up, such as a sandbox. */
export interface Wrapper {
	/** Contents the wrapper expects to read from file descriptor 3 and on. */
	readonly descriptors: readonly Uint8Array[];
	/** Further file descriptors, above all others, from which the wrapper expects to read nothing. */
	readonly emptyDescriptors?: readonly number[] | undefined;
	/** Descriptors, above these, of files and directories; a start fails if a link was put in the path of one. */
	readonly heldPaths?: readonly {readonly fd: number; readonly path: string}[] | undefined;
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
	/** Set by a program that ran the child in this one's place and knows more than the kernel tells. */
	readonly told?: Omit<Exit, 'exitCode'> | undefined;
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
	/** Whether nobody can read what is written; absent where it cannot be told. */
	isBroken?(): boolean;
	/** For a program that takes the place of this one; absent where it cannot be told. */
	handOver?(): StdinRemainder;
}

/** Standard input of a child that another program goes on to write. */
export interface StdinRemainder {
	/** Undefined once it is closed. */
	readonly fd: number | undefined;
	/** Queued, but not taken by the kernel. */
	readonly unwritten: readonly Uint8Array[];
	/** It is to be closed after that. */
	readonly isEnding: boolean;
}

/** A child of this process as a program that takes the place of this one sees it. Times are those of the kernel. */
export interface ChildHandle {
	readonly pid: number;
	readonly tag?: string | undefined;
	readonly spawnedAt: number;
	/** See `Wrapper`. */
	readonly hasOwnSession: boolean;
	/** Reaped already. */
	readonly hasExited: boolean;
	readonly kind: SpawnRequest['io']['kind'];
	/** Streams that have not ended. */
	readonly outputs: readonly {readonly stream: OutputStream; readonly fd: number}[];
	/** Descriptor of a pipe; a terminal has one for both directions. Undefined if there is none, or it was closed. */
	readonly stdinFd?: number | undefined;
	/** There is a standard input, be it a closed one. */
	readonly hasStdin: boolean;
	/** Descriptor that keeps a terminal from hanging up. */
	readonly heldFd?: number | undefined;
}

/** Input of a child as the kernel knows it, to tell whether some process of its tree is reading it. */
export type InputSource =
	| {readonly kind: 'pipe'; readonly inode: number}
	| {
			readonly kind: 'terminal';
			readonly path: string;
			/** Device number; that of the controlling terminal of processes that run on it. */
			readonly device: number;
			/** Process group that may read; undefined when no session has the terminal. */
			readonly foregroundGroup: number | undefined;
			/** Lines are edited by the kernel; a raw terminal gives every key to the program. */
			readonly isCanonical: boolean;
			readonly isEchoing: boolean;
			/** A read returns after a while without input. */
			readonly hasReadTimeout: boolean;
	  };

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
	/** Bytes may have been taken from the kernel that are not reported yet, also while paused; absent where never. */
	readonly isReading?: boolean;
	/** Reads what the kernel holds, then closes the streams; `streamEnded` follows for each that was open. */
	drainAndClose(): void;
	/** Signals the process group. A process that is gone is no error. */
	signal(name: NodeJS.Signals): void;
	/** Asks the process to end in another way than with SIGTERM; absent where there is none. */
	askToEnd?(): void;
	/** Undefined without a terminal. */
	readonly resize: ((size: TerminalSize) => void) | undefined;
	/** Ends the tree of a child that another program runs, which finds all of it; settles with those that are left. */
	endTree?(mode: TerminationMode): Promise<readonly ProcessInfo[]>;
	/** The input now, or undefined once it is closed; absent without input, and where the backend cannot tell. */
	readonly inputProbe?: (() => InputSource | undefined) | undefined;
	/** For `Backend.adopt` in a program that takes the place of this one. */
	handOver?(): ChildHandle;
}

export interface SubreaperOptions {
	/** Told when the watchdog had to be replaced. */
	readonly logger: Logger;
	/** Control group that holds all children already; without one a group is made where that is possible. */
	readonly groupPath?: string | undefined;
	/**
	 * Set in a program that is to outlive the one that started it: takes the marks off by which the watchdog of that one
	 * recognises it, and leaves its control group. Throws where that is not possible.
	 */
	readonly leaves?: {readonly groupPath: string | undefined} | undefined;
	/** Of the program that this one has taken the place of: everything goes on, with the same watchdog. */
	readonly inherited?: SubreaperState | undefined;
}

/** Marks that tell descendants from others, for a program that takes the place of this one. */
export interface SubreaperState {
	readonly tags: {readonly prefix: string; readonly next: string; readonly common?: string | undefined};
	/** Control group that this process is in, or its children are. */
	readonly groupPath?: string | undefined;
	readonly isGrouped: boolean;
	readonly watchdog: WatchdogState;
}

export interface WatchdogState {
	readonly pid?: number | undefined;
	/** Descriptor whose end the watchdog waits for. */
	readonly lifeline?: number | undefined;
	readonly toldCount: number;
}

/** A child that has yet to be spawned, or to become the program. */
export type PendingChild = Promise<Child> & {
	/** Ends it if it is there already. The promise settles all the same; a child that comes is to be ended. */
	readonly cancel?: () => void;
};

/** Spawns children. Throws, or rejects with, a `spawnError` when the system refuses. */
export interface Backend {
	readonly name: string;
	/** Whether children can get `SpawnRequest.inherited`; absent where they cannot. */
	readonly passesContent?: boolean;
	/**
	 * Makes this process the child subreaper of all its descendants and starts a watchdog, so that none outlives it even if
	 * it is killed. Only for a program that starts its children through this backend alone. Absent where not supported.
	 */
	becomeSubreaper?(options: SubreaperOptions): void;
	/**
	 * Spawns a program that outlives this one once it has left its marks and group, see `SubreaperOptions`. Sparing it goes
	 * by its process id, and only by that: a mark could be forged. Absent where not supported.
	 */
	spawnLasting?(request: Omit<SpawnRequest, 'io' | 'limits'>, events: ChildEvents): Child;
	/** The same for one that an earlier program of this process has spawned; calls back when it has ended. */
	adoptLasting?(pid: number, onExit: () => void): void;
	/** Control group that all children are in; undefined where there is none. */
	readonly groupPath?: string | undefined;
	spawn(request: SpawnRequest, events: ChildEvents): Child | PendingChild;
	/** Undefined before `becomeSubreaper`. Absent where children cannot be handed over. */
	handOver?(): SubreaperState | undefined;
	/**
	 * Takes over a child of the program that this one has taken the place of; its descriptors are open. All have to be taken
	 * over in the same tick of the event loop as `becomeSubreaper`: others are reaped as orphans.
	 */
	adopt?(handle: ChildHandle, events: ChildEvents): Child;
}

const {EMFILE, ENFILE, EAGAIN, ENOMEM} = constants.errno;
/** Errors of exhausted resources: the same spawn may succeed later. */
const EXHAUSTED_ERRNOS: ReadonlySet<number> = new Set([EMFILE, ENFILE, EAGAIN, ENOMEM]);

/** The operating system refused to start `program`. */
export function spawnError(errno: number, program: string): LongarmError {
	const code = EXHAUSTED_ERRNOS.has(Math.abs(errno)) ? 'RESOURCES_EXHAUSTED' : 'SPAWN_FAILED';
	return new LongarmError(code, {message: osErrorText(errno), context: {program, error: osErrorName(errno)}});
}
