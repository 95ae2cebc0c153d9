/** A program to be run in a sandbox. */
export interface SandboxedCommand {
	/** As the caller named it: with a slash, or looked for along PATH. */
	readonly program: string;
	readonly args: readonly string[];
	/** What the program sees as its own name, when that is not how it was named. */
	readonly arg0: string | undefined;
	/** Absolute; undefined when it is no UTF-8. */
	readonly cwd: string | undefined;
	readonly terminal: boolean;
}

/** The program that makes the sandbox and runs the command in it. */
export interface WrappedCommand {
	readonly file: string;
	readonly argv: readonly string[];
	/** Paths it expects open for reading, as descriptor 3 and on. */
	readonly descriptors: readonly string[];
	/** Whether the command leads a session of its own below the wrapper. */
	readonly ownSession: boolean;
}
