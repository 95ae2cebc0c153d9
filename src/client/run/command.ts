import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {type OptionTable, requireKnownOptions, toMilliseconds} from '../../shared/call-options.js';
import type {Duration} from '../../shared/units.js';
import {type Path, toPathUri} from '../paths.js';
import type {ProcessStarter, StartedProcess, StartOptions, StartParams} from '../process/process-handle.js';
import {requireCapability} from '../session/require-capability.js';
import type {SandboxOption} from './sandbox-policy.js';
import {requireSharing, SHARING_OPTIONS, type SharingOptions, toSharingParams} from './sharing-options.js';

/** A machine that runs processes. An `Environment` is one, and so is any object with these members. */
export interface ProcessHost {
	readonly processes: ProcessStarter;
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

/** Directory, variables, terminal and audience of a command. */
export interface RunCommandOptions extends SharingOptions {
	/** The executor's own by default. */
	readonly cwd?: Path | undefined;
	/** Added to the variables of the executor. A variable that is undefined is not added. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
	/** Which of the executor's own variables are inherited; all of them by default. */
	readonly inherit?: 'all' | 'core' | 'none' | undefined;
	/** A terminal, and its size. */
	readonly tty?: boolean | {readonly rows: number; readonly cols: number} | undefined;
	/** Whether its standard input is a pipe that can be written to; it is empty otherwise. */
	readonly stdin?: boolean | undefined;
	readonly processId?: string | undefined;
	/** Restricts files and network; an executor that cannot enforce it starts nothing. */
	readonly sandbox?: SandboxOption | undefined;
	/** Lifetime after its client has left or is lost; `endWithSession` by default. Needs `processOnDisconnect`. */
	readonly onDisconnect?: DisconnectPolicy | undefined;
}

/** When a process without a client ends: with its session (80 seconds later by default), at once, or after a given time. */
export type DisconnectPolicy = 'endWithSession' | 'endAtOnce' | {readonly keepFor: Duration};

/** Options of every way to start a command. */
export const COMMAND_OPTIONS: OptionTable<RunCommandOptions> = {
	cwd: 'any',
	env: 'object',
	inherit: 'text',
	tty: 'any',
	stdin: 'flag',
	processId: 'text',
	sandbox: 'any',
	onDisconnect: 'any',
	...SHARING_OPTIONS,
};

/** Parameters of `process/start` for a command, with the defaults people expect. */
export async function toStartParams(
	host: Pick<ProcessHost, 'info'>,
	argv: readonly string[],
	options: RunCommandOptions = {},
): Promise<StartParams> {
	requireArguments(argv);
	const {cwd, env = {}, inherit = 'all', tty = false, stdin = false, sandbox, onDisconnect} = options;
	const sharing = toSharingParams(options);
	if (Object.keys(sharing).length > 0) requireSharing(sharing, (await host.info()).capabilities);
	const directory = cwd === undefined ? await ownDirectory(host) : toPathUri(cwd).href;
	return {
		processId: options.processId ?? globalThis.crypto.randomUUID(),
		argv: [...argv],
		cwd: directory,
		env: withoutUndefined(env),
		envPolicy: {inherit, ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: []},
		tty: tty !== false,
		pipeStdin: stdin,
		...(typeof tty === 'object' && {io: {pty: tty}}),
		...(sandbox && {sandbox: await toSandbox(sandbox, directory)}),
		...(onDisconnect !== undefined && {onDisconnect: await toWirePolicy(host, onDisconnect)}),
		...sharing,
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

/** Throws a `TypeError` for a command that is not a list of texts. */
export function requireArguments(argv: readonly string[]): void {
	if (!Array.isArray(argv)) {
		const instead = typeof argv === 'string' ? `; use environment.shell(${JSON.stringify(argv)})` : '';
		throw new TypeError(`argv must be an array of texts, program first${instead}`);
	}
	const wrong = argv.findIndex(word => typeof word !== 'string');
	if (wrong >= 0) throw new TypeError(`argv[${wrong}] must be text, not a value of type ${typeof argv[wrong]}`);
}

/** A server that does not know the member would keep or end the process as it likes. */
async function toWirePolicy(
	host: Pick<ProcessHost, 'info'>,
	policy: DisconnectPolicy,
): Promise<NonNullable<StartParams['onDisconnect']>> {
	const wire = readPolicy(policy);
	requireCapability((await host.info()).capabilities, 'processOnDisconnect', 'onDisconnect');
	return wire;
}

/** Throws a `TypeError` for a policy that does not exist. */
export function readPolicy(policy: DisconnectPolicy): NonNullable<StartParams['onDisconnect']> {
	if (policy === 'endWithSession' || policy === 'endAtOnce') return policy;
	if (typeof policy !== 'object' || policy === null) {
		throw new TypeError("option `onDisconnect` must be 'endWithSession', 'endAtOnce' or {keepFor: '5m'}");
	}
	requireKnownOptions(policy, ['keepFor'], 'onDisconnect');
	return {keepForMs: Math.round(toMilliseconds(policy.keepFor, '`keepFor` of onDisconnect'))};
}

function withoutUndefined(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
	return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

async function ownDirectory(host: Pick<ProcessHost, 'info'>): Promise<string> {
	return (await host.info()).cwd ?? 'file:///';
}
