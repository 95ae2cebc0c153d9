import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {type Path, toPathUri} from '../paths.js';
import type {Processes, StartParams} from '../process/process-handle.js';

/** What helpers need of a machine. */
export interface Machine {
	readonly processes: Processes;
	info(): Promise<EnvironmentInfo>;
}

export interface RunCommandOptions {
	/** The executor's own by default. */
	readonly cwd?: Path | undefined;
	/** Added to the variables of the executor. */
	readonly env?: Readonly<Record<string, string>> | undefined;
	/** What the executor's own variables contribute; all of them by default. */
	readonly inherit?: 'all' | 'core' | 'none' | undefined;
	/** A terminal, and its size. */
	readonly tty?: boolean | {readonly rows: number; readonly cols: number} | undefined;
	/** Whether anything will be written to its input; nothing is there to be read otherwise. */
	readonly stdin?: boolean | undefined;
	readonly processId?: string | undefined;
}

/** A command as a server wants to be asked for it, with what people expect where they did not say. */
export async function toStartParams(
	machine: Pick<Machine, 'info'>,
	argv: readonly string[],
	options: RunCommandOptions = {},
): Promise<StartParams> {
	const {cwd, env = {}, inherit = 'all', tty = false, stdin = false} = options;
	return {
		processId: options.processId ?? globalThis.crypto.randomUUID(),
		argv: [...argv],
		cwd: cwd === undefined ? await ownDirectory(machine) : toPathUri(cwd).href,
		env: {...env},
		envPolicy: {inherit, ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: []},
		tty: tty !== false,
		pipeStdin: stdin,
		...(typeof tty === 'object' && {io: {pty: tty}}),
	};
}

async function ownDirectory(machine: Pick<Machine, 'info'>): Promise<string> {
	return (await machine.info()).cwd ?? 'file:///';
}
