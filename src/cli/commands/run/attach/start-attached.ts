import {homedir} from 'node:os';
import {posix} from 'node:path';
import {toPathUri} from '../../../../client/paths.js';
import type {ProcessHandle} from '../../../../client/process/process-handle.js';
import type {SandboxOption} from '../../../../client/run/sandbox-policy.js';
import type {SharingOptions} from '../../../../client/run/sharing-options.js';
import {ProtocolError} from '../../../../client/session/client-errors.js';
import type {Environment} from '../../../../environments/environment.js';
import type {EnvironmentInfo} from '../../../../protocol/methods/environment-methods.js';
import {PathUriError} from '../../../../protocol/path-uri/path-uri.js';
import {usageError} from '../../../exit-codes.js';
import {explainFailedStart, type FailedStart} from './failed-start.js';
import type {OutputWriter} from './output-writer.js';
import type {OwnTerminal} from './own-terminal.js';
import type {HasCapability} from './process-control.js';
import type {InputKind} from './stdin.js';

export interface AttachedCommand {
	/** The login shell of the environment when it is empty. */
	readonly argv: readonly string[];
	/** Relative to the directory the environment works in, which is the default. */
	readonly cwd: string | undefined;
	readonly env: Readonly<Record<string, string>>;
	/** Whether it runs on a terminal. */
	readonly tty: boolean;
	readonly timeoutMs?: number | undefined;
	readonly sandbox?: SandboxMaker | undefined;
	/** Whether our standard input is left alone, and that of the command empty. */
	readonly noInput?: boolean | undefined;
	/** Takes the output; our own streams by default. */
	readonly writer?: OutputWriter | undefined;
	/** Name, labels and the like. */
	readonly sharing?: SharingOptions | undefined;
	/** A random one by default. */
	readonly processId?: string | undefined;
	/** A user at a terminal waits until a lost link is back: the process is kept for that long where the server can. */
	readonly isPatient?: boolean | undefined;
}

/** How long a process of somebody who waits for the link lives without a client. */
export const KEPT_FOR = '24h';

/** Makes a policy when the working directory is known; `resolve` makes a path of the environment absolute. */
export type SandboxMaker = (cwd: string, resolve: (path: string) => string) => SandboxOption;

/** Facts about an environment that a start depends on. */
export interface EnvironmentFacts {
	readonly can: HasCapability;
	readonly cwd: string;
	/** Undefined if the environment does not tell. */
	readonly home: string | undefined;
	/** The login shell. */
	shell(): Promise<string>;
	/** Whether an input is opened: one that could never be closed is not when it is empty. */
	passesInput(kind: InputKind): boolean;
}

/** Asks the environment; this machine need not be asked. */
export async function readEnvironmentFacts(environment: Environment): Promise<EnvironmentFacts> {
	if (environment.kind === 'local') {
		const shell = async (): Promise<string> => (await environment.info()).shell.path;
		return {can: () => true, cwd: process.cwd(), home: homedir(), shell, passesInput: () => true};
	}
	const info = await readInfo(environment);
	const can: HasCapability = capability => info?.capabilities?.[capability] === true;
	return {
		can,
		cwd: (info?.cwd && toPathUri(info.cwd).toNativeString('posix')) ?? '/',
		home: (info?.userHomeDir && toPathUri(info.userHomeDir).toNativeString('posix')) || undefined,
		shell: async () => info?.shell.path ?? '/bin/sh',
		passesInput: kind => kind !== 'nothing' || can('processCloseStdin'),
	};
}

async function readInfo(environment: Environment): Promise<EnvironmentInfo | undefined> {
	try {
		return await environment.info();
	} catch (error) {
		// An older server cannot describe itself.
		if (error instanceof ProtocolError) return undefined;
		throw error;
	}
}

export interface StartContext {
	readonly facts: EnvironmentFacts;
	/** Where it comes from; undefined for one without our terminal. */
	readonly terminal: Pick<OwnTerminal, 'size'> | undefined;
	readonly inputKind: InputKind;
	/** Whether it waits for no reader, and its input is empty. */
	readonly isDetached?: boolean;
	/** Cancels the start; a process that comes to be is ended. */
	readonly signal?: AbortSignal | undefined;
}

/** Starts the command with what the environment can do; a program that is missing or not executable is no error of ours. */
export async function startAttached(
	environment: Environment,
	command: AttachedCommand,
	{facts, terminal, inputKind, isDetached = false, signal}: StartContext,
): Promise<{readonly process: ProcessHandle} | FailedStart> {
	const {env, tty} = command;
	const argv = command.argv.length > 0 ? command.argv : [await facts.shell(), '-l'];
	const cwd = resolveDirectory(facts, command.cwd, '--cwd');
	const sandbox = command.sandbox && (await makeSandbox(environment, facts, command.sandbox, cwd));
	try {
		const process = await environment.start(argv, {
			cwd,
			env,
			tty: terminal && facts.can('processIo') ? terminal.size : tty,
			stdin: !isDetached && facts.passesInput(inputKind),
			backpressure: !isDetached,
			sandbox,
			...(command.timeoutMs !== undefined && {timeout: command.timeoutMs, signal}),
			...(command.processId !== undefined && {processId: command.processId}),
			...(isKeptWhileAway(environment, command, facts) && {onDisconnect: {keepFor: KEPT_FOR}}),
			...command.sharing,
		});
		return {process};
	} catch (error) {
		const explained = await explainFailedStart(error, {
			program: argv[0]!,
			cwd: toPathUri(cwd).toNativeString('posix') ?? cwd,
			environment,
		});
		if (explained) return explained;
		throw error;
	}
}

/** Whether the process lives on for a time when its client is away. */
export function isKeptWhileAway(
	{kind}: Pick<Environment, 'kind'>,
	{isPatient}: Pick<AttachedCommand, 'isPatient'>,
	{can}: EnvironmentFacts,
): boolean {
	return isPatient === true && kind === 'remote' && can('processOnDisconnect');
}

/** A path that does not exist grants nothing, and the command would fail later for a reason that is hard to see. */
async function makeSandbox(
	environment: Environment,
	facts: EnvironmentFacts,
	make: SandboxMaker,
	cwd: string,
): Promise<SandboxOption> {
	const writable = new Map<string, string>();
	const sandbox = make(cwd, path => {
		const uri = resolveDirectory(facts, path, '--writable', cwd);
		writable.set(uri, path);
		return uri;
	});
	const {metadataIfExists} = await import('../../../../client/files/file-location.js');
	for (const [path, given] of writable) {
		if (await metadataIfExists({files: environment.files, path})) continue;
		throw usageError(`--writable ${given}: there is no such directory in the environment ${environment.id}`);
	}
	return sandbox;
}

/** A directory of the environment as a URI: absolute, below the home directory with `~`, or below the base. */
export function resolveDirectory(
	{cwd: own, home}: EnvironmentFacts,
	given: string | undefined,
	option: string,
	base = own,
): string {
	if (given === undefined) return toPathUri(base).href;
	try {
		if (/^(?:\/|file:|[A-Za-z]:[\\/]|\\\\)/.test(given)) return toPathUri(given).href;
		if (given !== '~' && !given.startsWith('~/'))
			return toPathUri(posix.join(toPathUri(base).toNativeString('posix') ?? own, given)).href;
		if (home === undefined) throw usageError(`${option} ${given}: the environment does not tell its home directory`);
		return toPathUri(posix.join(home, given.slice(1))).href;
	} catch (error) {
		if (!(error instanceof PathUriError)) throw error;
		throw usageError(`${option} ${given}: ${error.message}`);
	}
}
