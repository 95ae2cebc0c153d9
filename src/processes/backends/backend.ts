import type {OutputStream} from '../output/output-log.js';
import type {ChildLimits} from './child-limits.js';

/** Everything the operating system needs to start one program. Nothing in here is looked up or defaulted any more. */
export interface SpawnRequest {
	/** The file to execute, found already; a relative path is relative to `cwd`. */
	readonly file: string;
	/** What the program sees as its arguments, the first being its own name. */
	readonly argv: readonly string[];
	/** Raw bytes: a path need not be UTF-8. */
	readonly cwd: Uint8Array;
	readonly environment: ReadonlyMap<string, string>;
	readonly io: {readonly kind: 'pipes'; readonly stdin: boolean} | ({readonly kind: 'pty'} & TerminalSize);
	/** What the child and whatever it starts are held to. */
	readonly limits?: ChildLimits | undefined;
	/** Set when `file` only makes the surroundings in which the program itself runs. */
	readonly wrapper?: Wrapper | undefined;
}

/** A program around the program, such as one that makes a sandbox. */
export interface Wrapper {
	/** Paths the wrapper expects open for reading, as descriptor 3 and on. */
	readonly descriptors: readonly string[];
	/**
	 * The program leads a session of its own below the wrapper, as the second process of a new namespace. Signals are for
	 * its group, and the terminal is left to its session.
	 */
	readonly ownSession: boolean;
}

/** How the kernel says a process ended. */
export interface KernelExit {
	/** Its own code, or 128 + n after signal n. */
	readonly exitCode: number;
	readonly signaled: boolean;
}

export interface TerminalSize {
	readonly columns: number;
	readonly rows: number;
}

/** What a child reports, always asynchronously to `spawn`. */
export interface ChildEvents {
	output(stream: OutputStream, bytes: Uint8Array): void;
	/** The stream is over: every holder of its writing end is gone. Once per stream. */
	ended(stream: OutputStream): void;
	/** The kernel reported the end of the process. Once. */
	exited(end: KernelExit): void;
}

/** The writing end of a child's standard input. */
export interface StdinWriter {
	/** Takes the whole chunk, in order; `done` comes when it was written or can never be. */
	write(bytes: Uint8Array, done: () => void): void;
	/** End of input after what is queued: closes a pipe, types the end-of-file character on a terminal. */
	end(): void;
	/** Drops what is queued and closes; queued chunks count as done. */
	destroy(): void;
}

export interface Child {
	readonly pid: number;
	/** What everything below it can be recognised by, where the backend can tag it. */
	readonly tag: string | undefined;
	readonly streams: readonly OutputStream[];
	readonly stdin: StdinWriter | undefined;
	/** Stops taking output from the kernel, so that the child blocks once its pipe is full. */
	pause(): void;
	resume(): void;
	/** Takes what the kernel holds right now, then lets go of the streams; `ended` follows for each that had not. */
	finish(): void;
	/** To the process group. A process that is gone already is no error. */
	signal(name: NodeJS.Signals): void;
	/** Only where there is a terminal. */
	readonly resize: ((size: TerminalSize) => void) | undefined;
}

/** A way to start children. Throws, or rejects with, a LongarmError `SPAWN_FAILED` when the system refuses. */
export interface Backend {
	readonly name: string;
	/**
	 * Makes this program answer for everything below it: orphans become its children, and nothing outlives it even if it
	 * is killed. Only for a program that starts its children through this backend alone. Absent where it cannot be done.
	 */
	becomeSubreaper?(): void;
	spawn(request: SpawnRequest, events: ChildEvents): Child | Promise<Child>;
}
