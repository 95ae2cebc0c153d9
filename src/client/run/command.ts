import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {type Path, toPathUri} from '../paths.js';
import type {Processes, StartedProcess, StartOptions, StartParams} from '../process/process-handle.js';
import type {SandboxOption} from './sandbox-policy.js';

/** A machine that runs processes. An `Environment` is one, and so is any object with these members. */
export interface ProcessHost {
	readonly processes: Processes;
	/** Shell, working directory and the like. */
	info(): Promise<EnvironmentInfo>;
	/** Name among several hosts. */
	readonly id?: string;
	/** Whether a server answers for the machine; local if absent. */
	readonly kind?: 'local' | 'remote';
	/** Reachability, without waiting for a connection that is being made; always reachable if absent. */
	status?(): Promise<{readonly kind: 'pending' | 'ready' | 'disconnected'}>;
	/** Hears of lost connections; `recovered` settles when the session goes on. Absent where there is no connection. */
	onDisconnect?(listener: (error: Error, recovered: Promise<void>) => void): () => void;
}

/** Directory, variables and terminal of a command. */
export interface RunCommandOptions {
	/** The executor's own by default. */
	readonly cwd?: Path | undefined;
	/** Added to the variables of the executor. */
	readonly env?: Readonly<Record<string, string>> | undefined;
	/** Which of the executor's own variables are inherited; all of them by default. */
	readonly inherit?: 'all' | 'core' | 'none' | undefined;
	/** A terminal, and its size. */
	readonly tty?: boolean | {readonly rows: number; readonly cols: number} | undefined;
	/** Whether its standard input is a pipe that can be written to; it is empty otherwise. */
	readonly stdin?: boolean | undefined;
	readonly processId?: string | undefined;
	/** Restricts files and network; an executor that cannot enforce it starts nothing. */
	readonly sandbox?: SandboxOption | undefined;
}

/** Parameters of `process/start` for a command, with the defaults people expect. */
export async function toStartParams(
	host: Pick<ProcessHost, 'info'>,
	argv: readonly string[],
	options: RunCommandOptions = {},
): Promise<StartParams> {
	const {cwd, env = {}, inherit = 'all', tty = false, stdin = false, sandbox} = options;
	const directory = cwd === undefined ? await ownDirectory(host) : toPathUri(cwd).href;
	return {
		processId: options.processId ?? globalThis.crypto.randomUUID(),
		argv: [...argv],
		cwd: directory,
		env: {...env},
		envPolicy: {inherit, ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: []},
		tty: tty !== false,
		pipeStdin: stdin,
		...(typeof tty === 'object' && {io: {pty: tty}}),
		...(sandbox && {sandbox: await toSandbox(sandbox, directory)}),
	};
}

/** Starts a process; one with a sandbox only where that is enforced. */
export async function startOn(
	{processes}: Pick<ProcessHost, 'processes'>,
	params: StartParams,
	options?: StartOptions,
): Promise<StartedProcess> {
	if (!params.sandbox) return processes.start(params, options);
	const {startEnforced} = await import('./sandbox-policy.js');
	return startEnforced(processes, params, options);
}

/** Loaded when it is needed: most commands have no sandbox. */
async function toSandbox(sandbox: SandboxOption, cwd: string): Promise<NonNullable<StartParams['sandbox']>> {
	const {toSandboxContext} = await import('./sandbox-policy.js');
	return toSandboxContext(sandbox, cwd);
}

async function ownDirectory(host: Pick<ProcessHost, 'info'>): Promise<string> {
	return (await host.info()).cwd ?? 'file:///';
}
