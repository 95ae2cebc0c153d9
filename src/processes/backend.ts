import type {OutputStream} from './output-log.js';

/** Everything the operating system needs to start one program. Nothing in here is looked up or defaulted any more. */
export interface SpawnRequest {
	/** The file to execute, found already; a relative path is relative to `cwd`. */
	readonly file: string;
	/** What the program sees as its arguments, the first being its own name. */
	readonly argv: readonly string[];
	/** Raw bytes: a path need not be UTF-8. */
	readonly cwd: Uint8Array;
	readonly environment: ReadonlyMap<string, string>;
	readonly io:
		| {readonly kind: 'pipes'; readonly stdin: boolean}
		| {readonly kind: 'pty'; readonly columns: number; readonly rows: number};
}

/** What a child reports, always asynchronously to `spawn`. */
export interface ChildEvents {
	output(stream: OutputStream, bytes: Uint8Array): void;
	/** The stream is over: every holder of its writing end is gone. Once per stream. */
	ended(stream: OutputStream): void;
	/** The kernel reported the end of the process: its code, or 128 + n after signal n. Once. */
	exited(exitCode: number): void;
}

/** The writing end of a child's standard input. */
export interface StdinWriter {
	/** Takes the whole chunk, in order; `done` comes when it was written or can never be. */
	write(bytes: Uint8Array, done: () => void): void;
	/** Drops what is queued and closes; queued chunks count as done. */
	destroy(): void;
}

export interface Child {
	readonly pid: number;
	readonly streams: readonly OutputStream[];
	readonly stdin: StdinWriter | undefined;
	/** Stops taking output from the kernel, so that the child blocks once its pipe is full. */
	pause(): void;
	resume(): void;
	/** Takes what the kernel holds right now, then lets go of the streams; `ended` follows for each that had not. */
	finish(): void;
	/** To the process group. A process that is gone already is no error. */
	signal(name: NodeJS.Signals): void;
}

/** A way to start children. Throws, or rejects with, a LongarmError `SPAWN_FAILED` when the system refuses. */
export interface Backend {
	readonly name: string;
	spawn(request: SpawnRequest, events: ChildEvents): Child | Promise<Child>;
}
